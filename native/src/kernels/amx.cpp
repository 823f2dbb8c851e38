// Prompt processing on AMX: weights become bf16 tiles in a small panel, activations are bf16, sums
// are float. Relative error of a product about 2^-9, of a row's sum much less; no scale per group
// is left in the inner loop, which is what makes tiles pay.
#include "kernels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cerrno>
#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "kernels/target_region.h"

namespace kvq {
namespace {

bool tiles_give_right_product();

bool request_tiles() {
#if defined(__linux__)
  unsigned a = 7, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  const bool tile = d & (1u << 24), bf16 = d & (1u << 22);
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  // The kernel may refuse although the CPU could: virtual machines do.
  return tile && bf16 && ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

// One small product in a child process: where tiles are announced but do not work (a hypervisor, a
// miscompiled configuration), the child dies of SIGILL and this process only learns of it.
bool tiles_work_in_child() {
#if defined(__linux__)
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) ::_exit(tiles_give_right_product() ? 0 : 1);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
#else
  return false;
#endif
}

}  // namespace

bool amx_usable() {
  static const bool usable = request_tiles() && tiles_work_in_child();
  return usable;
}

}  // namespace kvq

KVQ_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,amx-tile,amx-bf16")
namespace kvq {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
// In static memory: GCC 12 drops the stores to a local one before _tile_loadconfig.
const TileConfig kTileConfig;

// Two vectors of 16 floats -> pairs (a, b) of bf16, rounded to nearest even.
inline __m512i bf16_pairs(__m512 a, __m512 b) {
  const __m512i half = _mm512_set1_epi32(0x7FFF), one = _mm512_set1_epi32(1);
  __m512i x = _mm512_castps_si512(a), y = _mm512_castps_si512(b);
  x = _mm512_add_epi32(x, _mm512_add_epi32(half, _mm512_and_si512(_mm512_srli_epi32(x, 16), one)));
  y = _mm512_add_epi32(y, _mm512_add_epi32(half, _mm512_and_si512(_mm512_srli_epi32(y, 16), one)));
  return _mm512_or_si512(_mm512_srli_epi32(x, 16),
                         _mm512_and_si512(y, _mm512_set1_epi32(static_cast<int>(0xFFFF0000u))));
}

// Column i of a quad held in 32-bit lanes.
template <int I>
inline __m512 column(__m512i bytes, __m512 d, __m512 m) {
  const __m512i q = _mm512_and_si512(_mm512_srli_epi32(bytes, 8 * I), _mm512_set1_epi32(255));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(q), d, m);
}

inline void quad_to_panel(__m512i bytes, __m512 d, __m512 m, uint16_t* panel) {
  _mm512_store_si512(panel, bf16_pairs(column<0>(bytes, d, m), column<1>(bytes, d, m)));
  _mm512_store_si512(panel + 32, bf16_pairs(column<2>(bytes, d, m), column<3>(bytes, d, m)));
}

inline __m512 halves(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// A tile of 16 rows as groups of [16 pairs of columns][16 rows][2]: the right operand of tdpbf16ps.
void make_panel(const PackedMatrix& w, int tile, uint16_t* panel) {
  const uint8_t* codes = w.tile_codes(tile);
  const uint16_t* scales = w.tile_scale(tile);
  const __m512i nibble = _mm512_set1_epi8(15);
  for (int g = 0; g < w.groups(); ++g, panel += 512) {
    if (w.format == Format::kQ4) {
      const __m512 d = halves(scales + 32 * g), m = halves(scales + 32 * g + 16);
      for (int j = 0; j < 4; ++j) {
        const __m512i raw = _mm512_loadu_si512(codes + 256 * g + 64 * j);
        quad_to_panel(_mm512_and_si512(raw, nibble), d, m, panel + 64 * j);
        quad_to_panel(_mm512_and_si512(_mm512_srli_epi16(raw, 4), nibble), d, m,
                      panel + 64 * (j + 4));
      }
    } else if (w.format == Format::kQ8) {
      const __m512 d = halves(scales + 16 * g);
      const __m512 m = _mm512_mul_ps(d, _mm512_set1_ps(-128.0f));
      for (int j = 0; j < 8; ++j) {
        quad_to_panel(_mm512_loadu_si512(codes + 512 * g + 64 * j), d, m, panel + 64 * j);
      }
    } else {
      const auto* h = reinterpret_cast<const uint16_t*>(codes) + 512 * g;
      for (int p = 0; p < 16; ++p) {
        _mm512_store_si512(panel + 32 * p, bf16_pairs(halves(h + 32 * p), halves(h + 32 * p + 16)));
      }
    }
  }
}

}  // namespace

void round_bf16_amx(const Activations& x, int token) {
  const size_t cols = static_cast<size_t>(x.cols()), first = cols * static_cast<size_t>(token);
  const __m512i half = _mm512_set1_epi32(0x7FFF), one = _mm512_set1_epi32(1);
  for (size_t i = first; i < first + cols; i += 16) {
    const __m512i v = _mm512_loadu_si512(x.values + i);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(v, 16), one);
    const __m512i rounded = _mm512_add_epi32(v, _mm512_add_epi32(half, odd));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x.bf16 + i),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
}

void gemm_bf16_amx(const PackedMatrix& w, int tile0, int tile1, const Activations& x, int token0,
                   int token1, float* out, size_t stride, uint16_t* panel) {
  const int groups = w.groups();
  const size_t cols = static_cast<size_t>(w.cols);
  _tile_loadconfig(&kTileConfig);
  alignas(64) float edge[2][256];
  for (int tile = tile0; tile < tile1; tile += 2) {
    const int n_tiles = tile1 - tile >= 2 ? 2 : 1;
    for (int i = 0; i < n_tiles; ++i) make_panel(w, tile + i, panel + 16 * cols * i);
    // The tile intrinsics do not tell the compiler that they read memory.
    __asm__ volatile("" ::: "memory");
    const uint16_t* p0 = panel;
    const uint16_t* p1 = panel + 16 * cols * (n_tiles - 1);
    for (int t = token0; t < token1; t += 32) {
      // Rows past the last token are read from the activations' padding and thrown away.
      const uint16_t* a0 = x.bf16 + static_cast<size_t>(t) * cols;
      const bool two = token1 - t > 16;
      const uint16_t* a1 = two ? a0 + 16 * cols : a0;
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      for (int g = 0; g < groups; ++g) {
        _tile_loadd(4, a0 + 32 * g, 2 * cols);
        _tile_loadd(6, p0 + 512 * g, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, p1 + 512 * g, 64);
        _tile_dpbf16ps(1, 4, 7);
        if (two) {
          _tile_loadd(5, a1 + 32 * g, 2 * cols);
          _tile_dpbf16ps(2, 5, 6);
          _tile_dpbf16ps(3, 5, 7);
        }
      }
      for (int half = 0; half < (two ? 2 : 1); ++half) {
        const int first = t + 16 * half;
        if (half == 0) {
          _tile_stored(0, edge[0], 64);
          _tile_stored(1, edge[1], 64);
        } else {
          _tile_stored(2, edge[0], 64);
          _tile_stored(3, edge[1], 64);
        }
        const int n = token1 - first < 16 ? token1 - first : 16;
        for (int i = 0; i < n_tiles; ++i) {
          for (int r = 0; r < n; ++r) {
            _mm512_storeu_ps(out + static_cast<size_t>(first + r) * stride + 16 * (tile + i),
                             _mm512_load_ps(edge[i] + 16 * r));
          }
        }
      }
    }
  }
  _tile_release();
}

namespace {

// 16 rows of 32 weights, q = (column + row) % 16, times one token of small whole numbers, and 15
// tokens of zeros: exact in bf16. Allocates nothing, since it runs in a forked child.
bool tiles_give_right_product() {
  alignas(64) static uint8_t codes[256];
  alignas(64) static uint16_t scales[32], tokens[32 * 32], panel[32 * 32];
  static float out[16 * 16];
  for (int row = 0; row < 16; ++row) {
    scales[row] = 0x3C00;  // d = 1, m = 0
    for (int c = 0; c < 16; ++c) {
      const int low = (c + row) % 16, high = (c + 16 + row) % 16;
      codes[64 * (c / 4) + 4 * row + c % 4] = static_cast<uint8_t>(low | high << 4);
    }
  }
  // 1.0 and 2.0 in turn.
  for (int c = 0; c < 32; ++c) tokens[c] = c % 2 == 0 ? 0x3F80 : 0x4000;
  PackedMatrix w;
  w.rows = 16;
  w.cols = 32;
  w.codes = codes;
  w.scales = scales;
  Activations x;
  x.bf16 = tokens;
  x.groups = 1;
  gemm_bf16_amx(w, 0, 1, x, 0, 16, out, 16, panel);
  for (int row = 0; row < 16; ++row) {
    float expected = 0.0f;
    for (int c = 0; c < 32; ++c) {
      expected += static_cast<float>((c + row) % 16) * (c % 2 == 0 ? 1.0f : 2.0f);
    }
    if (out[row] != expected || out[16 * 15 + row] != 0.0f) return false;
  }
  return true;
}

}  // namespace

}  // namespace kvq
KVQ_TARGET_END
#endif
