// What an instruction set must offer. Kernels do not check their arguments and allocate nothing;
// every buffer belongs to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packed_matrix.h"

namespace kvq {

constexpr int kBlockTokens = 16;            // tokens interleaved in one block of the cache
constexpr int kMaxQueries = 12;             // query vectors of one attend call
constexpr int kMaxHeadDim = 256;            // a multiple of 16
constexpr float kActivationTop = 32512.0f;  // largest 16-bit activation code: 127 * 256

// Activations of n tokens as 16-bit integers with one scale per group of 32. One group's sum of
// products fits 32 bits: 32 * 255 * 32512 < 2^28.01. The order of the codes inside a group is the
// instruction set's own (see quantize); the rest is common.
struct Activations {
  int8_t* codes = nullptr;      // [n][groups][64 bytes]
  float* scale = nullptr;       // [n][groups]
  float* sum = nullptr;         // [n][groups] scale * sum of codes: meets the weights' minimum
  int32_t* code_sum = nullptr;  // [n][groups] sum of codes: takes the +128 of 8-bit weights back
  float* values = nullptr;      // [n][cols] the floats themselves, for 16-bit weights
  uint16_t* bf16 = nullptr;     // [n][cols] for gemm_bf16 only
  int groups = 0;
  int cols() const { return groups * kGroup; }
};

// State of an online softmax over one query: o = sum of exp(s - max) * v, not yet divided by total.
struct AttendState {
  float max;
  float total;
};

// One block of the quantized cache: 16 tokens of one KV head. Codes are vectors of 64 bytes, packed
// (cache_layout.h); scales are 16 bytes, for 8 bits followed by 16 zero points. At 16 bits the
// codes are halves as attend reads them, and there are no scales.
struct CodeBlock {
  const uint8_t* k_codes;
  const uint8_t* k_scales;
  const uint8_t* v_codes;
  const uint8_t* v_scales;
};

// Tokens of one class of one KV head: blocks[b] holds tokens 16b .. 16b + 15. What lies in the
// lanes from n_tokens on is never seen, whatever it is.
struct CodeList {
  const CodeBlock* blocks;
  int n_tokens;
  int k_bits, v_bits;          // 2, 3, 4, 8 or 16
  int k_exponent, v_exponent;  // of the scale bytes
};

// Queries of one KV head, prepared once for all its lists.
struct CodeQueries {
  alignas(64) int8_t codes[kMaxQueries * 2 * kMaxHeadDim];  // the instruction set's own order
  float scale[kMaxQueries];                                 // of the integers that the codes are
  int32_t code_sum[kMaxQueries];                            // sum of these integers
  const float* values;  // the queries themselves: the caller's, who keeps them
  int n_queries, head_dim;
  // What will be attended to next, by whomever: it is fetched early. None after prepare_queries.
  const CodeList* ahead;
  int n_ahead;
};

// One layer of a small network: y = x * weights * scale + bias, then ReLU if wanted.
struct MlpLayer {
  int n_in, n_out;         // at most 256 both; n_in: a multiple of 32
  const uint8_t* weights;  // as pack_mlp leaves them
  const float* scale;      // [n_out] of the integer weights
  const float* bias;       // [n_out]
  bool relu;
};

struct Kernels {
  const char* name;

  // Token t of x: values[t] -> codes, scale, sum, code_sum. Error at most scale/2 per value.
  void (*quantize)(const Activations& x, int token);

  // out[t * stride + 16 * tile + r] = dot(row, activations of token t) for tiles [tile0, tile1) and
  // tokens [token0, token1). Rows beyond w.rows are written too (as zero).
  void (*gemm)(const PackedMatrix& w, int tile0, int tile1, const Activations& x, int token0,
               int token1, float* out, size_t stride);
  // The same for many tokens on a matrix unit, from x.bf16; both are nullptr where the CPU has
  // none. bf16 rows up to the next multiple of 16 tokens must be readable. panel: 32 * w.cols
  // numbers of scratch, aligned to 64 bytes.
  void (*round_bf16)(const Activations& x, int token);  // values -> bf16
  void (*gemm_bf16)(const PackedMatrix& w, int tile0, int tile1, const Activations& x, int token0,
                    int token1, float* out, size_t stride, uint16_t* panel);

  // y = x / rms(x) * weight, over n values (a multiple of 16).
  void (*rms_norm)(const float* x, const float* weight, float epsilon, int n, float* y);
  // y = silu(gate) * up, over n values (a multiple of 16); y may be gate.
  void (*silu_mul)(const float* gate, const float* up, int n, float* y);

  // Adds the blocks' tokens to n_queries (at most kMaxQueries) online softmax states.
  //   q [n_queries][head_dim], already divided by sqrt(head_dim)
  //   k_blocks[b]: halves [head_dim][16 tokens]; v_blocks[b]: halves [16 tokens][head_dim]
  //   n_ahead: blocks that follow in both tables and may be fetched early, not attended to
  //   visible[i]: how many of the tokens, counted from the first block, query i sees (may be 0)
  //   o [n_queries][head_dim]
  void (*attend)(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
                 const uint16_t* const* v_blocks, int n_blocks, int n_ahead, const int* visible,
                 AttendState* state, float* o);

  // The quantized cache. head_dim and dim: multiples of 32, at most kMaxHeadDim.

  // Orthonormal Walsh-Hadamard transform in place, over blocks of the largest power of two that
  // divides dim. Its own inverse.
  void (*hadamard)(float* x, int dim);
  // Writes x [dim] into one lane (0..15) of a block; the other lanes stay as they are.
  //   bits 2, 3, 4, 8 or 16; exponent: of the scale bytes, -126..110
  //   NaN counts as 0; whatever lies beyond +-65504, infinities too, as +-65504.
  void (*quantize_key)(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                       uint8_t* scales);
  void (*quantize_value)(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                         uint8_t* scales);
  // The inverse: what attention takes the lane for.
  void (*dequantize_key)(const uint8_t* codes, const uint8_t* scales, int dim, int bits,
                         int exponent, int lane, float* x);
  void (*dequantize_value)(const uint8_t* codes, const uint8_t* scales, int dim, int bits,
                           int exponent, int lane, float* x);
  // q [n_queries][head_dim], already divided by sqrt(head_dim) and transformed as the keys are.
  void (*prepare_queries)(const float* q, int n_queries, int head_dim, CodeQueries* out);
  // Adds all tokens of the lists (any number, empty ones too) to the queries' online softmax
  // states.
  void (*attend_codes)(const CodeQueries& q, const CodeList* lists, int n_lists, AttendState* state,
                       float* o);
  // Like attend, for blocks that are filled in any order: bit t of lanes[b] says whether lane t of
  // block b holds a token. A query sees a lane when the bit is set and 16b + t < visible[i]; others
  // may hold anything. scores [n_queries][16 * n_blocks]: q * k, -inf where unseen.
  void (*attend_window)(const float* q, int n_queries, int head_dim,
                        const uint16_t* const* k_blocks, const uint16_t* const* v_blocks,
                        int n_blocks, const uint16_t* lanes, const int* visible, AttendState* state,
                        float* o, float* scores);
  // Keys [dim] that are stored before RoPE, as attention over halves wants them: decoded, out of
  // their space (hadamard, then plus the mean) and turned by their positions. One block.
  //   mean [dim]; turns[t]: of lane t's position, [dim / 2] cosines, then sines; all 16 are read
  //   out: halves [dim][16 tokens], whatever lies beyond +-65504 as +-65504
  void (*turn_keys)(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
                    const float* mean, const float* const* turns, uint16_t* out);
  // sum[t] += exp(scores[t] - max) * factor, for n scores (a multiple of 16; -inf adds nothing).
  void (*add_weights)(const float* scores, int n, float max, float factor, float* sum);
  // weights [n_out][n_in] -> packed: mlp_bytes(n_in, n_out) bytes, the instruction set's own order.
  void (*pack_mlp)(const int8_t* weights, int n_in, int n_out, uint8_t* packed);
  // x [rows][n_in] -> y [rows][n_out]. A row becomes int8 (largest magnitude: 127); sums are exact.
  void (*mlp_layer)(const MlpLayer& layer, const float* x, int rows, float* y);
};

inline size_t mlp_bytes(int n_in, int n_out) {
  return static_cast<size_t>(n_in) * static_cast<size_t>((n_out + 15) / 16 * 16);
}

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
void round_bf16_amx(const Activations& x, int token);
void gemm_bf16_amx(const PackedMatrix& w, int tile0, int tile1, const Activations& x, int token0,
                   int token1, float* out, size_t stride, uint16_t* panel);
// True when the CPU has AMX bf16 and the kernel lets this process use it.
bool amx_usable();
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
extern const Kernels kNeonDotKernels;
#endif

// Names that this CPU can run, best last. "scalar" is always among them.
std::vector<std::string> available_isas();
// isa "" means the environment's KVQ_ISA, or else the best. Throws Error("isa") for one that does
// not exist or that this CPU lacks.
Kernels select_kernels(std::string_view isa);

}  // namespace kvq
