// Times the kernels of one instruction set on the shapes of SmolLM-135M, one thread. Prints one
// line of JSON a case: median of several passes, in nanoseconds and in bytes per nanosecond (GB/s).
// "cold" cases walk through more memory than a core's second-level cache holds.
//
//   bench_kernels [ISA]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "error.h"
#include "fp16.h"
#include "kernels/kernels.h"
#include "memory.h"

namespace {

using namespace kvq;

template <class Body>
double median_ns(Body body) {
  std::vector<double> times;
  body();
  for (int i = 0; i < 15; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body();
    times.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
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
    bench_gemm(k, Format::kQ4, "gemm q4 16384x576");
    bench_gemm(k, Format::kQ8, "gemm q8 16384x576");
    bench_gemm(k, Format::kF16, "gemm f16 16384x576");
    for (const bool cold : {false, true}) {
      for (const int n : {1, 3, 6}) bench_attend(k, n, cold);
    }
    bench_rows(k);
  } catch (const Error& e) {
    std::fprintf(stderr, "bench_kernels: %s\n", e.what());
    return 2;
  }
  return 0;
}
