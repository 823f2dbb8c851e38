// The tensor types of GGUF files that this engine reads, and their plain decoding to float.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvq {

// Numbers as they stand in the file.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kBF16 = 30,
};

struct TypeTraits {
  const char* name;
  uint32_t block_values;  // values per block
  uint32_t block_bytes;
};

// nullptr for a type this engine does not read.
const TypeTraits* type_traits(uint32_t type);

// Decodes n values (a multiple of the type's block_values) from src to dst.
void dequantize(TensorType type, const uint8_t* src, size_t n, float* dst);

}  // namespace kvq
