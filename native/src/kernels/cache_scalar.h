// The plain kernels of the quantized cache; see kernels.h for what they do.
#pragma once

#include "kernels/kernels.h"

namespace kvq::scalar {

void hadamard(float* x, int dim);
void quantize_key(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                  uint8_t* scales);
void quantize_value(const float* x, int dim, int bits, int exponent, int lane, uint8_t* codes,
                    uint8_t* scales);
void dequantize_key(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
                    int lane, float* x);
void dequantize_value(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
                      int lane, float* x);
void prepare_queries(const float* q, int n_queries, int head_dim, CodeQueries* out);
void attend_codes(const CodeQueries& q, const CodeList* lists, int n_lists, AttendState* state,
                  float* o);
void attend_window(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
                   const uint16_t* const* v_blocks, int n_blocks, const uint16_t* lanes,
                   const int* visible, AttendState* state, float* o, float* scores);
void turn_keys(const uint8_t* codes, const uint8_t* scales, int dim, int bits, int exponent,
               const float* mean, const float* const* turns, uint16_t* out);
void add_weights(const float* scores, int n, float max, float factor, float* sum);
void pack_mlp(const int8_t* weights, int n_in, int n_out, uint8_t* packed);
void mlp_layer(const MlpLayer& layer, const float* x, int rows, float* y);

}  // namespace kvq::scalar
