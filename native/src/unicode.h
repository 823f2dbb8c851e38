// Letters, numbers and white space, and UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvq {

enum class CharKind : uint8_t { kO, kL, kN, kS };  // other, letter, number, white space

CharKind char_kind(uint32_t code_point);

struct CodePoint {
  uint32_t value;
  uint32_t bytes;  // 1 to 4
};

// The code point at a position of valid UTF-8. A byte that begins none is a code point of its own.
CodePoint code_point_at(std::string_view text, size_t at);

}  // namespace kvq
