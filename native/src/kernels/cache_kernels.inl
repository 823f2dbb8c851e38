// The kernels of the quantized cache over 16-lane primitives; the end of vector_kernels.inl. What an
// instruction set must define for them is said in cache_common.inl.
// clang-format off: in this order, each file needs those before it
#include "kernels/cache_common.inl"
#include "kernels/cache_quantize.inl"
#include "kernels/cache_attend.inl"
#include "kernels/cache_window.inl"
#include "kernels/cache_mlp.inl"
// clang-format on
