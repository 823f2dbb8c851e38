// The quantized cache, written plainly: the reference that every other instruction set is compared
// with. Attention dequantizes every token and works in floats.
#include "kernels/cache_scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fp16.h"
#include "kernels/cache_layout.h"

namespace kvq::scalar {
namespace {

// Where element d of a token lies among the unpacked vectors.
struct Place {
  int vector, byte;
};
Place key_place(int lane, int d) { return {d / 4, 4 * lane + d % 4}; }
Place value_place(int lane, int d) { return {d / 16 * 4 + lane / 4, 4 * (d % 16) + lane % 4}; }

// Reference to one code's bits inside a plane of n vectors.
struct Field {
  uint8_t* byte;
  int shift;
};
Field field(const uint8_t* plane, int n, int width, Place p) {
  const int packed = n * width / 8;
  return {const_cast<uint8_t*>(plane) + 64 * (p.vector % packed) + p.byte,
          p.vector / packed * width};
}
int get(Field f, int width) { return *f.byte >> f.shift & ((1 << width) - 1); }
void put(Field f, int width, int code) {
  const int mask = ((1 << width) - 1) << f.shift;
  *f.byte = static_cast<uint8_t>((*f.byte & ~mask) | (code << f.shift & mask));
}

int read_code(const uint8_t* codes, int n, int bits, Place p) {
  if (bits != 3) return get(field(codes, n, bits, p), bits);
  return get(field(codes, n, 2, p), 2) | get(field(codes + 16 * n, n, 1, p), 1) << 2;
}
void write_code(uint8_t* codes, int n, int bits, Place p, int code) {
  put(field(codes, n, plane_width(bits), p), plane_width(bits), code);
  if (bits == 3) put(field(codes + 16 * n, n, 1, p), 1, code >> 2);
}

float tame(float x) { return std::isnan(x) ? 0.0f : std::clamp(x, -kLargestHalf, kLargestHalf); }

// Code of x among values s * (2c - (2^bits - 1)); half_step = 1 / 2s.
float symmetric_code(float x, float half_step, int bits) {
  const float top = static_cast<float>((1 << bits) - 1);
  return std::clamp(std::nearbyint(x * half_step + 0.5f * top), 0.0f, top);
}

int best_scale(const float* x, int dim, int bits, int exponent) {
  float squares = 0.0f;
  for (int d = 0; d < dim; ++d) squares += x[d] * x[d];
  const int centre =
      nearest_scale(kCentre[bits] * std::sqrt(squares / static_cast<float>(dim)), exponent);
  int best = 0;
  float least = std::numeric_limits<float>::infinity();
  for (int i = 0; i < kScaleCandidates; ++i) {
    const int code = std::clamp(centre, kBelowCentre, 255 - kAboveCentre) - kBelowCentre + i;
    const float s = decode_scale(static_cast<uint8_t>(code), exponent), half_step = 0.5f / s;
    float error = 0.0f;
    for (int d = 0; d < dim; ++d) {
      const float step = symmetric_code(x[d], half_step, bits);
      const float e = x[d] * half_step + 0.5f * static_cast<float>((1 << bits) - 1) - step;
      error += e * e;
    }
    error *= s * s;
    if (error < least) {
      least = error;
      best = code;
    }
  }
  return best;
}

template <class Locate>
void quantize_lane(const float* values, int dim, int bits, int exponent, int lane, uint8_t* codes,
                   uint8_t* scales, Locate place) {
  float x[kMaxHeadDim];
  for (int d = 0; d < dim; ++d) x[d] = tame(values[d]);
  if (bits == 8) {
    float lo = 0.0f, hi = 0.0f;
    for (int d = 0; d < dim; ++d) {
      lo = std::min(lo, x[d]);
      hi = std::max(hi, x[d]);
    }
    scales[lane] = static_cast<uint8_t>(scale_above((hi - lo) / 255.0f, exponent));
    const float inverse = 1.0f / decode_scale(scales[lane], exponent);
    const float zero = std::clamp(std::nearbyint(-lo * inverse), 0.0f, 255.0f);
    scales[16 + lane] = static_cast<uint8_t>(zero);
    for (int d = 0; d < dim; ++d) {
      const float code = std::clamp(std::nearbyint(x[d] * inverse + zero), 0.0f, 255.0f);
      write_code(codes, dim / 4, bits, place(lane, d), static_cast<int>(code));
    }
    return;
  }
  scales[lane] = static_cast<uint8_t>(best_scale(x, dim, bits, exponent));
  const float half_step = 0.5f / decode_scale(scales[lane], exponent);
  for (int d = 0; d < dim; ++d) {
    write_code(codes, dim / 4, bits, place(lane, d),
               static_cast<int>(symmetric_code(x[d], half_step, bits)));
  }
}

template <class Locate>
void dequantize_lane(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
                     int lane, float* x, Locate place) {
  const float s = decode_scale(scales[lane], exponent);
  for (int d = 0; d < dim; ++d) {
    const int code = read_code(codes, dim / 4, bits, place(lane, d));
    x[d] =
        s * static_cast<float>(bits == 8 ? code - scales[16 + lane] : 2 * code - ((1 << bits) - 1));
  }
}

// One more token of an online softmax.
void add_token(float score, const float* v, int head_dim, AttendState* state, float* o) {
  const float top = std::max(state->max, score);
  const float keep = std::exp(state->max - top), weight = std::exp(score - top);
  state->max = top;
  state->total = state->total * keep + weight;
  for (int d = 0; d < head_dim; ++d) o[d] = o[d] * keep + weight * v[d];
}

float dot(const float* a, const float* b, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void hadamard(float* x, int dim) {
  const int n = dim & -dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(n));
  for (float* block = x; block < x + dim; block += n) {
    for (int h = 1; h < n; h *= 2) {
      for (int i = 0; i < n; ++i) {
        if (i & h) continue;
        const float a = block[i], b = block[i + h];
        block[i] = a + b;
        block[i + h] = a - b;
      }
    }
    for (int i = 0; i < n; ++i) block[i] *= scale;
  }
}

void quantize_key(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                  uint8_t* scales) {
  if (bits != 16) return quantize_lane(x, dim, bits, exponent, lane, codes, scales, key_place);
  auto* halves = reinterpret_cast<uint16_t*>(codes);
  for (int d = 0; d < dim; ++d) halves[kBlockTokens * d + lane] = float_to_fp16(tame(x[d]));
}

void quantize_value(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                    uint8_t* scales) {
  if (bits != 16) return quantize_lane(x, dim, bits, exponent, lane, codes, scales, value_place);
  auto* halves = reinterpret_cast<uint16_t*>(codes) + lane * dim;
  for (int d = 0; d < dim; ++d) halves[d] = float_to_fp16(tame(x[d]));
}

void dequantize_key(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
                    int lane, float* x) {
  if (bits != 16) return dequantize_lane(codes, scales, dim, bits, exponent, lane, x, key_place);
  const auto* halves = reinterpret_cast<const uint16_t*>(codes);
  for (int d = 0; d < dim; ++d) x[d] = fp16_to_float(halves[kBlockTokens * d + lane]);
}

void dequantize_value(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
                      int lane, float* x) {
  if (bits != 16) return dequantize_lane(codes, scales, dim, bits, exponent, lane, x, value_place);
  const auto* halves = reinterpret_cast<const uint16_t*>(codes) + lane * dim;
  for (int d = 0; d < dim; ++d) x[d] = fp16_to_float(halves[d]);
}

void prepare_queries(const float* q, int n_queries, int head_dim, CodeQueries* out) {
  out->values = q;
  out->ahead = nullptr;
  out->n_ahead = 0;
  out->n_queries = n_queries;
  out->head_dim = head_dim;
}

void attend_codes(const CodeQueries& q, const CodeList* lists, int n_lists, AttendState* state,
                  float* o) {
  float k[kMaxHeadDim], v[kMaxHeadDim];
  for (const CodeList* list = lists; list < lists + n_lists; ++list) {
    for (int t = 0; t < list->n_tokens; ++t) {
      const CodeBlock& b = list->blocks[t / kBlockTokens];
      const int lane = t % kBlockTokens;
      dequantize_key(b.k_codes, b.k_scales, q.head_dim, list->k_bits, list->k_exponent, lane, k);
      dequantize_value(b.v_codes, b.v_scales, q.head_dim, list->v_bits, list->v_exponent, lane, v);
      for (int i = 0; i < q.n_queries; ++i) {
        add_token(dot(q.values + i * q.head_dim, k, q.head_dim), v, q.head_dim, state + i,
                  o + i * q.head_dim);
      }
    }
  }
}

void attend_window(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
                   const uint16_t* const* v_blocks, int n_blocks, const uint16_t* lanes,
                   const int* visible, AttendState* state, float* o, float* scores) {
  float k[kMaxHeadDim], v[kMaxHeadDim];
  const int n = n_blocks * kBlockTokens;
  for (int i = 0; i < n_queries; ++i, q += head_dim, o += head_dim, scores += n) {
    for (int t = 0; t < n; ++t) {
      const int b = t / kBlockTokens, lane = t % kBlockTokens;
      scores[t] = -std::numeric_limits<float>::infinity();
      if (t >= visible[i] || !(lanes[b] >> lane & 1)) continue;
      for (int d = 0; d < head_dim; ++d) {
        k[d] = fp16_to_float(k_blocks[b][kBlockTokens * d + lane]);
        v[d] = fp16_to_float(v_blocks[b][lane * head_dim + d]);
      }
      scores[t] = dot(q, k, head_dim);
      add_token(scores[t], v, head_dim, state + i, o);
    }
  }
}

void turn_keys(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
               const float* mean, const float* const* turns, uint16_t* out) {
  float k[kMaxHeadDim];
  const int half = dim / 2;
  for (int t = 0; t < kBlockTokens; ++t) {
    dequantize_key(codes, scales, dim, bits, exponent, t, k);
    hadamard(k, dim);
    for (int i = 0; i < half; ++i) {
      const float a = k[i] + mean[i], b = k[half + i] + mean[half + i];
      const float cosine = turns[t][i], sine = turns[t][half + i];
      out[kBlockTokens * i + t] = float_to_fp16(tame(a * cosine - b * sine));
      out[kBlockTokens * (half + i) + t] = float_to_fp16(tame(a * sine + b * cosine));
    }
  }
}

void add_weights(const float* scores, int n, float max, float factor, float* sum) {
  for (int t = 0; t < n; ++t) sum[t] += std::exp(scores[t] - max) * factor;
}

void pack_mlp(const int8_t* weights, int n_in, int n_out, uint8_t* packed) {
  std::copy(weights, weights + n_in * n_out, reinterpret_cast<int8_t*>(packed));
}

void mlp_layer(const MlpLayer& layer, const float* x, int rows, float* y) {
  const auto* weights = reinterpret_cast<const int8_t*>(layer.weights);
  for (int r = 0; r < rows; ++r, x += layer.n_in, y += layer.n_out) {
    float largest = 0.0f;
    for (int i = 0; i < layer.n_in; ++i) largest = std::max(largest, std::fabs(x[i]));
    const float inverse = largest > kLeastTop ? 127.0f / largest : 0.0f, scale = largest / 127.0f;
    for (int j = 0; j < layer.n_out; ++j) {
      int32_t sum = 0;
      for (int i = 0; i < layer.n_in; ++i) {
        sum += static_cast<int32_t>(std::nearbyint(x[i] * inverse)) * weights[j * layer.n_in + i];
      }
      const float out = static_cast<float>(sum) * (scale * layer.scale[j]) + layer.bias[j];
      y[j] = layer.relu ? std::max(out, 0.0f) : out;
    }
  }
}

}  // namespace kvq::scalar
