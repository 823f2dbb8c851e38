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
constexpr int kMaxQueries = 8;              // query vectors of one attend call
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
};

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
