// The kernels of the quantized cache over 16-lane primitives; the end of vector_kernels.inl. What
// an instruction set must define for them is said in cache_common.inl. Each file needs those
// before it, so their order is not the alphabet's.
// clang-format off
#include "kernels/cache_common.inl"
#include "kernels/cache_quantize.inl"
#include "kernels/cache_attend.inl"
#include "kernels/cache_window.inl"
#include "kernels/cache_turn.inl"
#include "kernels/cache_mlp.inl"
// clang-format on
