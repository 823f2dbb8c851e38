// Times the kernels of one instruction set on the shapes of SmolLM-135M, one thread. Prints one
// line of JSON a case: median of several passes, in nanoseconds and in bytes per nanosecond (GB/s).
// "cold" cases walk through more memory than a core's second-level cache holds.
//
//   bench_kernels [ISA [cache]]    cache: only the kernels of the quantized cache
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "error.h"
#include "fp16.h"
#include "kernels/cache_layout.h"
#include "kernels/kernels.h"
#include "memory.h"

namespace {

using namespace kvq;

// This thread's own time: others may use the machine meanwhile.
double thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}
double wall_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

template <class Body>
double median_ns(Body body, double (*now)() = thread_ns) {
  std::vector<double> times;
  body();
  for (int i = 0; i < 15; ++i) {
    const double start = now();
    body();
    times.push_back(now() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void report(const Kernels& k, const char* name, int n, double ns, double bytes) {
  std::printf("{\"isa\": \"%s\", \"case\": \"%s\", \"n\": %d, \"ns\": %.0f, \"gb_s\": %.2f}\n",
              k.name, name, n, ns, bytes / ns);
}

PackedMatrix random_matrix(Format format, int rows, int cols, Buffer& memory) {
  PackedMatrix w;
  w.format = format;
  w.rows = rows;
  w.cols = cols;
  memory = Buffer(w.code_bytes() + w.scale_bytes());
  w.codes = memory.data();
  w.scales = memory.as<uint16_t>(w.code_bytes());
  for (size_t i = 0; i < w.code_bytes(); ++i) {
    w.codes[i] = format == Format::kF16 ? (i & 1 ? 0x2C : static_cast<uint8_t>(i))
                                        : static_cast<uint8_t>(i * 2654435761u >> 13);
  }
  for (size_t i = 0; i < w.scale_bytes() / 2; ++i) w.scales[i] = float_to_fp16(0.01f);
  return w;
}

void bench_gemm(const Kernels& k, Format format, const char* name) {
  constexpr int kRows = 16384, kCols = 576, kTokens = 128;
  Buffer memory;
  const PackedMatrix w = random_matrix(format, kRows, kCols, memory);
  std::vector<float> values(kTokens * kCols, 0.5f), scale(kTokens * 18), sum(kTokens * 18);
  std::vector<int8_t> codes(kTokens * kCols * 2);
  std::vector<int32_t> code_sum(kTokens * 18);
  std::vector<float> out(static_cast<size_t>(kTokens) * kRows);
  Activations x{codes.data(),  scale.data(), sum.data(), code_sum.data(),
                values.data(), nullptr,      18};
  for (int t = 0; t < kTokens; ++t) k.quantize(x, t);
  const double bytes = static_cast<double>(w.code_bytes() + w.scale_bytes());
  for (const int n : {1, 4, 8, 128}) {
    const int tiles = n > 8 ? 128 : w.tiles();
    const double ns = median_ns([&] { k.gemm(w, 0, tiles, x, 0, n, out.data(), kRows); });
    report(k, name, n, ns, bytes * tiles / w.tiles());
  }
}

void bench_attend(const Kernels& k, int n_queries, bool cold) {
  constexpr int kDim = 64, kBlocks = 128;
  const int distinct = cold ? 8192 : 16;
  Buffer memory(static_cast<size_t>(distinct) * 4096);
  std::memset(memory.data(), 0x20, memory.size());
  std::vector<const uint16_t*> keys, values;
  // As in the cache: runs of 8 blocks of keys, then 8 of values.
  for (int b = 0; b < std::max(kBlocks, distinct); ++b) {
    const size_t run = static_cast<size_t>(b % distinct / 8), block = static_cast<size_t>(b % 8);
    keys.push_back(memory.as<uint16_t>(run * 32768 + block * 2048));
    values.push_back(keys.back() + 8192);
  }
  std::vector<float> q(static_cast<size_t>(n_queries) * kDim, 0.1f), o(q.size());
  std::vector<int> visible(static_cast<size_t>(n_queries), kBlocks * kBlockTokens);
  std::vector<AttendState> state(static_cast<size_t>(n_queries), {-1e30f, 0.0f});
  size_t at = 0;
  const double ns = median_ns([&] {
    k.attend(q.data(), n_queries, kDim, keys.data() + at, values.data() + at, kBlocks, 0,
             visible.data(), state.data(), o.data());
    if (cold) at = (at + kBlocks) % static_cast<size_t>(distinct);
  });
  report(k, cold ? "attend 2048 tokens, cold" : "attend 2048 tokens, warm", n_queries, ns,
         4096.0 * kBlocks);
}

// The quantized cache of a whole token, as the controller leaves it at 3.5 bits: 90 heads of 4,096
// tokens in 16 classes. Cells of one list lie next to each other, keys apart from values.
struct QuantizedCache {
  static constexpr int kHeads = 90, kTokens = 4096, kDim = 64;
  static constexpr int kWidths[4] = {2, 3, 4, 8};
  static constexpr double kShare[4] = {0.20, 0.35, 0.38, 0.07};
  Buffer memory{size_t{64} << 20};
  std::vector<std::vector<CodeBlock>> blocks;
  std::vector<CodeList> lists[kHeads];
  double bytes = 0.0;

  QuantizedCache() {
    for (size_t i = 0; i < memory.size(); ++i) {
      memory.data()[i] = static_cast<uint8_t>(i * 2654435761u >> 13) & 0x77;
    }
    size_t used = 0;
    // Codes of n cells, then their scales, as in a page of the pool.
    const auto take = [&](size_t n, size_t size) {
      const uint8_t* at = memory.data() + used;
      used += n * size;
      return at;
    };
    blocks.reserve(kHeads * 16);
    for (auto& head : lists) {
      for (int c = 0; c < 16; ++c) {
        const int k_bits = kWidths[c % 4], v_bits = kWidths[c / 4];
        const int tokens = static_cast<int>(kTokens * kShare[c % 4] * kShare[c / 4] + 0.5);
        const size_t n = static_cast<size_t>(tokens + kBlockTokens - 1) / kBlockTokens;
        const size_t k_size = code_bytes(kDim, k_bits), v_size = code_bytes(kDim, v_bits);
        const uint8_t *k = take(n, k_size), *v = take(n, v_size);
        const uint8_t *k_scales = take(n, scale_bytes(k_bits)),
                      *v_scales = take(n, scale_bytes(v_bits));
        used = (used + 63) / 64 * 64;
        auto& list = blocks.emplace_back();
        for (size_t b = 0; b < n; ++b) {
          list.push_back({k + b * k_size, k_scales + b * scale_bytes(k_bits), v + b * v_size,
                          v_scales + b * scale_bytes(v_bits)});
        }
        head.push_back({list.data(), tokens, k_bits, v_bits, -11, -11});
      }
    }
    bytes = static_cast<double>(used);
  }
};

void attend_heads(const Kernels& k, const QuantizedCache& cache, int n_queries, int first,
                  int step) {
  constexpr int kDim = QuantizedCache::kDim;
  alignas(64) float q[kMaxQueries * kDim], o[kMaxQueries * kDim] = {};
  for (int i = 0; i < kMaxQueries * kDim; ++i) q[i] = 0.01f * static_cast<float>(i % 7 - 3);
  CodeQueries queries;
  for (int head = first; head < QuantizedCache::kHeads; head += step) {
    AttendState state[kMaxQueries];
    for (AttendState& s : state) s = {-1e30f, 0.0f};
    k.prepare_queries(q, n_queries, kDim, &queries);
    k.attend_codes(queries, cache.lists[head].data(), 16, state, o);
  }
}

void bench_codes(const Kernels& k) {
  const QuantizedCache cache;
  for (const int n : {1, 3, 6, 12}) {
    const double ns = median_ns([&] { attend_heads(k, cache, n, 0, 1); });
    report(k, "attend codes 90 x 4096 tokens", n, ns, cache.bytes);
  }
  for (const int n : {3, 12}) {
    // Both threads repeat their halves, so that starting them does not count.
    constexpr int kRepeat = 10;
    const double ns = median_ns(
        [&] {
          const auto half = [&](int first) {
            for (int i = 0; i < kRepeat; ++i) attend_heads(k, cache, n, first, 2);
          };
          std::thread other(half, 1);
          half(0);
          other.join();
        },
        wall_ns);
    report(k, "attend codes 90 x 4096 tokens, 2 threads", n, ns / kRepeat, cache.bytes);
  }
}

// One block each of the widths' pairs, again and again: what a width costs
// without memory.
void bench_widths(const Kernels& k) {
  constexpr int kDim = 64, kBlocks = 64;
  Buffer memory(code_bytes(kDim, 8) + 32);
  std::memset(memory.data(), 100, memory.size());
  const uint8_t *codes = memory.data(), *scales = codes + code_bytes(kDim, 8);
  const CodeBlock block{codes, scales, codes, scales};
  const std::vector<CodeBlock> blocks(kBlocks, block);
  std::vector<float> q(6 * kDim, 0.1f), o(6 * kDim);
  CodeQueries queries;
  for (const int n : {3, 6}) {
    k.prepare_queries(q.data(), n, kDim, &queries);
    for (const int bits : {2, 3, 4, 8}) {
      const CodeList list{blocks.data(), kBlocks * kBlockTokens, bits, bits, -11, -11};
      AttendState state[6];
      for (AttendState& s : state) s = {-1e30f, 0.0f};
      const double ns = median_ns([&] {
        for (int i = 0; i < 10; ++i) k.attend_codes(queries, &list, 1, state, o.data());
      });
      const std::string name = "attend codes, a block of " + std::to_string(bits) + " bits";
      report(k, name.c_str(), n, ns / (10 * kBlocks),
             2.0 * static_cast<double>(code_bytes(kDim, bits)));
    }
  }
}

void bench_cache_rows(const Kernels& k) {
  constexpr int kDim = 64, kRepeat = 200;
  std::vector<float> x(kDim);
  for (int d = 0; d < kDim; ++d)
    x[static_cast<size_t>(d)] = static_cast<float>(d * 37 % 64) - 31.5f;
  std::vector<uint8_t> codes(code_bytes(kDim, 16)), scales(32);
  const auto time = [&](const char* name, int n, auto body) {
    const double ns = median_ns([&] {
      for (int i = 0; i < kRepeat; ++i) body(i);
    });
    report(k, name, n, ns / kRepeat, 4.0 * kDim);
  };
  for (const int bits : {2, 3, 4, 8}) {
    time("quantize key", bits, [&](int i) {
      k.quantize_key(x.data(), kDim, bits, -11, i % 16, codes.data(), scales.data());
    });
    time("quantize value", bits, [&](int i) {
      k.quantize_value(x.data(), kDim, bits, -11, i % 16, codes.data(), scales.data());
    });
  }
  time("hadamard", kDim, [&](int) { k.hadamard(x.data(), kDim); });

  const int sizes[][2] = {{32, 128}, {128, 128}, {128, 2}};
  std::vector<float> in(90 * 128, 0.3f), out(90 * 128), scale(128, 0.01f);
  std::vector<int8_t> weights(128 * 128, 3);
  double total = 0.0;
  for (const auto& size : sizes) {
    Buffer packed(mlp_bytes(size[0], size[1]));
    k.pack_mlp(weights.data(), size[0], size[1], packed.data());
    const MlpLayer layer{size[0], size[1], packed.data(), scale.data(), scale.data(), true};
    total += median_ns([&] { k.mlp_layer(layer, in.data(), 90, out.data()); });
  }
  report(k, "mlp 32-128-128-2", 90, total, 0.0);

  // The half-precision window of a head: 3 blocks, 37 lanes of them filled.
  std::vector<uint16_t> halves(3 * 16 * kDim, 0x3000);
  const uint16_t* tables[3] = {halves.data(), halves.data() + 16 * kDim, halves.data() + 32 * kDim};
  const uint16_t lanes[3] = {0xFFFF, 0xFFFF, 0x001F};
  const int visible[3] = {48, 48, 48};
  std::vector<float> q(3 * kDim, 0.1f), o(q.size()), scores(3 * 48), sum(48);
  time("attend window", 3, [&](int) {
    AttendState state[3] = {{-1e30f, 0.0f}, {-1e30f, 0.0f}, {-1e30f, 0.0f}};
    k.attend_window(q.data(), 3, kDim, tables, tables, 3, lanes, visible, state, o.data(),
                    scores.data());
  });
  time("add weights", 48, [&](int) { k.add_weights(scores.data(), 48, 0.0f, 1.0f, sum.data()); });
}

void bench_rows(const Kernels& k) {
  constexpr int kCols = 1536;
  std::vector<float> a(kCols, 0.3f), b(kCols, 1.0f), y(kCols), scale(48), sum(48);
  std::vector<int8_t> codes(2 * kCols);
  std::vector<int32_t> code_sum(48);
  Activations x{codes.data(), scale.data(), sum.data(), code_sum.data(), a.data(), nullptr, 48};
  const auto repeat = [](auto body) {
    return [body] {
      for (int i = 0; i < 100; ++i) body();
    };
  };
  report(k, "quantize", kCols, median_ns(repeat([&] { k.quantize(x, 0); })) / 100, 4.0 * kCols);
  report(k, "rms_norm", kCols,
         median_ns(repeat([&] { k.rms_norm(a.data(), b.data(), 1e-5f, kCols, y.data()); })) / 100,
         4.0 * kCols);
  report(k, "silu_mul", kCols,
         median_ns(repeat([&] { k.silu_mul(a.data(), b.data(), kCols, y.data()); })) / 100,
         8.0 * kCols);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Kernels k = select_kernels(argc > 1 ? argv[1] : "");
    if (argc < 3) {
      bench_gemm(k, Format::kQ4, "gemm q4 16384x576");
      bench_gemm(k, Format::kQ8, "gemm q8 16384x576");
      bench_gemm(k, Format::kF16, "gemm f16 16384x576");
      for (const bool cold : {false, true}) {
        for (const int n : {1, 3, 6}) bench_attend(k, n, cold);
      }
      bench_rows(k);
    }
    bench_codes(k);
    bench_widths(k);
    bench_cache_rows(k);
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_kernels: %s\n", e.what());
    return 2;
  }
  return 0;
}
