// The matrix-unit kernel with its tile instructions replaced by plain code, so that its logic is
// tested on CPUs without the unit; where the unit exists, the real one is compared as well.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "check.h"
#include "fp16.h"
#include "kernels/kernels.h"
#include "tiny_model.h"

namespace fake {

struct Tile {
  alignas(64) uint8_t rows[16][64];
};
static Tile tiles[8];
static bool configured = false;

static void configure(const void* config) {
  uint8_t bytes[64];
  std::memcpy(bytes, config, 64);
  configured = bytes[0] == 1 && bytes[16] == 64 && bytes[48] == 16;
}
static void load(int t, const void* base, size_t stride) {
  for (size_t r = 0; r < 16; ++r) {
    std::memcpy(tiles[t].rows[r], static_cast<const uint8_t*>(base) + r * stride, 64);
  }
}
static void store(int t, void* base, size_t stride) {
  for (size_t r = 0; r < 16; ++r) {
    std::memcpy(static_cast<uint8_t*>(base) + r * stride, tiles[t].rows[r], 64);
  }
}
static void zero(int t) { std::memset(&tiles[t], 0, sizeof tiles[t]); }
static void multiply(int to, int a, int b) {
  for (size_t m = 0; m < 16; ++m) {
    float sums[16];
    uint16_t left[32], right[16][32];
    std::memcpy(sums, tiles[to].rows[m], 64);
    std::memcpy(left, tiles[a].rows[m], 64);
    for (size_t k = 0; k < 16; ++k) std::memcpy(right[k], tiles[b].rows[k], 64);
    for (size_t n = 0; n < 16; ++n) {
      for (size_t k = 0; k < 16; ++k) {
        for (size_t i = 0; i < 2; ++i) {
          sums[n] += kvq::bf16_to_float(left[2 * k + i]) * kvq::bf16_to_float(right[k][2 * n + i]);
        }
      }
    }
    std::memcpy(tiles[to].rows[m], sums, 64);
  }
}

}  // namespace fake

#undef _tile_loadconfig
#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#undef _tile_release
#define _tile_loadconfig(p) fake::configure(p)
#define _tile_loadd(t, p, stride) fake::load(t, p, stride)
#define _tile_stored(t, p, stride) fake::store(t, p, stride)
#define _tile_zero(t) fake::zero(t)
#define _tile_dpbf16ps(c, a, b) fake::multiply(c, a, b)
#define _tile_release() (fake::configured = false)
#define gemm_bf16_amx gemm_bf16_emulated
#define round_bf16_amx round_bf16_emulated
#define amx_usable amx_emulated
namespace kvq {
void gemm_bf16_emulated(const PackedMatrix& w, int tile0, int tile1, const Activations& x,
                        int token0, int token1, float* out, size_t stride, uint16_t* panel);
void round_bf16_emulated(const Activations& x, int token);
bool amx_emulated();
}  // namespace kvq
#include "kernels/amx.cpp"

namespace {

using namespace kvq;

bool has_avx512() {
  for (const std::string& isa : available_isas()) {
    if (isa == "avx512") return true;
  }
  return false;
}

}  // namespace

TEST(the_probe_product_is_right) {
  if (has_avx512()) CHECK(tiles_give_right_product());
}

TEST(bf16_tiles_equal_the_decoded_weights) {
  if (!has_avx512()) return;
  test::Random random(21);
  for (const Format format : {Format::kQ4, Format::kQ8, Format::kF16}) {
    for (const int tokens : {16, 17, 31, 32, 33, 50, 64}) {
      constexpr int kRows = 50, kCols = 96;
      PackedMatrix w;
      w.format = format;
      w.rows = kRows;
      w.cols = kCols;
      std::vector<uint8_t> codes(w.code_bytes());
      std::vector<uint16_t> scales(w.scale_bytes() / 2);
      w.codes = codes.data();
      w.scales = scales.data();
      for (uint8_t& c : codes) c = static_cast<uint8_t>(random.next());
      if (format == Format::kF16) {
        auto* halves = reinterpret_cast<uint16_t*>(codes.data());
        for (size_t i = 0; i < codes.size() / 2; ++i) halves[i] = float_to_fp16(random.uniform());
      }
      for (uint16_t& s : scales) s = float_to_fp16(0.1f * random.uniform());
      const size_t n = static_cast<size_t>(tokens), stride = 64;
      std::vector<float> values(n * kCols), out(n * stride, 7.0f);
      std::vector<uint16_t> bf16((n + 32) * kCols, 0x7FC0);  // padding rows are NaN
      for (float& v : values) v = random.uniform();
      alignas(64) static uint16_t panel[32 * kCols];
      Activations x;
      x.values = values.data();
      x.bf16 = bf16.data();
      x.groups = kCols / kGroup;
      for (int t = 0; t < tokens; ++t) round_bf16_emulated(x, t);
      fake::configured = false;
      gemm_bf16_emulated(w, 0, w.tiles(), x, 0, tokens, out.data(), stride, panel);
      float worst = 0.0f;
      for (int row = 0; row < kRows; ++row) {
        float decoded[kCols];
        unpack_row(w, row, decoded);
        for (size_t t = 0; t < n; ++t) {
          float expected = 0.0f;
          for (size_t c = 0; c < kCols; ++c) {
            expected += bf16_to_float(float_to_bf16(decoded[c])) *
                        bf16_to_float(float_to_bf16(values[t * kCols + c]));
          }
          const float error = std::fabs(out[t * stride + static_cast<size_t>(row)] - expected);
          worst = error <= worst ? worst : error;
        }
      }
      // Where d * q + m falls next to a rounding boundary, fused and separate rounding differ.
      CHECK(worst < 0.02f, "format %d tokens %d error %g", static_cast<int>(format), tokens,
            static_cast<double>(worst));
    }
  }
}
#endif
