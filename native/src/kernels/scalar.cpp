// The plain reference that every other instruction set is compared with.
#include <algorithm>
#include <cmath>
#include <limits>

#include "fp16.h"
#include "kernels/cache_scalar.h"
#include "kernels/kernels.h"

namespace kvq {
namespace {

// Codes of a group are 32 little-endian 16-bit integers in column order.
void quantize(const Activations& x, int token) {
  for (int g = 0; g < x.groups; ++g) {
    const size_t at = static_cast<size_t>(token) * x.groups + g;
    const float* v = x.values + at * kGroup;
    auto* codes = reinterpret_cast<int16_t*>(x.codes + at * 64);
    float largest = 0.0f;
    for (int i = 0; i < kGroup; ++i) largest = std::max(largest, std::fabs(v[i]));
    const float inverse = largest > 0.0f ? kActivationTop / largest : 0.0f;
    int32_t sum = 0;
    for (int i = 0; i < kGroup; ++i) {
      codes[i] = static_cast<int16_t>(std::nearbyint(v[i] * inverse));
      sum += codes[i];
    }
    x.scale[at] = largest / kActivationTop;
    x.sum[at] = x.scale[at] * static_cast<float>(sum);
    x.code_sum[at] = sum;
  }
}

float dot_row(const PackedMatrix& w, int tile, int r, const Activations& x, int token) {
  const uint8_t* codes = w.tile_codes(tile);
  const uint16_t* scales = w.tile_scale(tile);
  float total = 0.0f;
  if (w.format == Format::kF16) {
    const auto* halves = reinterpret_cast<const uint16_t*>(codes);
    const float* v = x.values + static_cast<size_t>(token) * w.cols;
    for (int c = 0; c < w.cols; ++c) total += fp16_to_float(halves[16 * c + r]) * v[c];
    return total;
  }
  for (int g = 0; g < x.groups; ++g) {
    const size_t at = static_cast<size_t>(token) * x.groups + g;
    const auto* v = reinterpret_cast<const int16_t*>(x.codes + at * 64);
    int32_t dot = 0;
    if (w.format == Format::kQ4) {
      for (int c = 0; c < 16; ++c) {
        const int byte = codes[256 * g + 64 * (c / 4) + 4 * r + c % 4];
        dot += (byte & 15) * v[c] + (byte >> 4) * v[16 + c];
      }
      const float d = fp16_to_float(scales[32 * g + r]), m = fp16_to_float(scales[32 * g + 16 + r]);
      total += d * x.scale[at] * static_cast<float>(dot) + m * x.sum[at];
    } else {
      for (int c = 0; c < kGroup; ++c) dot += codes[512 * g + 64 * (c / 4) + 4 * r + c % 4] * v[c];
      dot -= 128 * x.code_sum[at];
      total += fp16_to_float(scales[16 * g + r]) * x.scale[at] * static_cast<float>(dot);
    }
  }
  return total;
}

void gemm(const PackedMatrix& w, int tile0, int tile1, const Activations& x, int token0, int token1,
          float* out, size_t stride) {
  for (int tile = tile0; tile < tile1; ++tile) {
    for (int t = token0; t < token1; ++t) {
      for (int r = 0; r < kTileRows; ++r) {
        out[static_cast<size_t>(t) * stride + 16 * tile + r] = dot_row(w, tile, r, x, t);
      }
    }
  }
}

void rms_norm(const float* x, const float* weight, float epsilon, int n, float* y) {
  double squares = 0.0;
  for (int i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * x[i];
  const float scale = static_cast<float>(1.0 / std::sqrt(squares / n + epsilon));
  for (int i = 0; i < n; ++i) y[i] = x[i] * scale * weight[i];
}

void silu_mul(const float* gate, const float* up, int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

void attend(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
            const uint16_t* const* v_blocks, int n_blocks, int /*n_ahead*/, const int* visible,
            AttendState* state, float* o) {
  for (int i = 0; i < n_queries; ++i, q += head_dim, o += head_dim) {
    for (int t = 0; t < std::min(visible[i], n_blocks * kBlockTokens); ++t) {
      const uint16_t* k = k_blocks[t / kBlockTokens] + t % kBlockTokens;
      const uint16_t* v = v_blocks[t / kBlockTokens] + t % kBlockTokens * head_dim;
      float score = 0.0f;
      for (int d = 0; d < head_dim; ++d) score += q[d] * fp16_to_float(k[kBlockTokens * d]);
      const float top = std::max(state[i].max, score);
      const float keep = std::exp(state[i].max - top), weight = std::exp(score - top);
      state[i].max = top;
      state[i].total = state[i].total * keep + weight;
      for (int d = 0; d < head_dim; ++d) o[d] = o[d] * keep + weight * fp16_to_float(v[d]);
    }
  }
}

}  // namespace

const Kernels kScalarKernels = {"scalar",
                                quantize,
                                gemm,
                                nullptr,
                                nullptr,
                                rms_norm,
                                silu_mul,
                                attend,
                                scalar::hadamard,
                                scalar::quantize_key,
                                scalar::quantize_value,
                                scalar::dequantize_key,
                                scalar::dequantize_value,
                                scalar::prepare_queries,
                                scalar::attend_codes,
                                scalar::attend_window,
                                scalar::turn_keys,
                                scalar::add_weights,
                                scalar::pack_mlp,
                                scalar::mlp_layer};

}  // namespace kvq
