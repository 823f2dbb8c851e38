#include "unicode.h"

#include <algorithm>
#include <iterator>

namespace kvq {
namespace {

struct KindRange {
  uint32_t first, last;
  CharKind kind;
};

constexpr KindRange kRanges[] = {
#include "unicode_ranges.inl"
};

}  // namespace

CharKind char_kind(uint32_t code_point) {
  const auto* after =
      std::upper_bound(std::begin(kRanges), std::end(kRanges), code_point,
                       [](uint32_t code, const KindRange& range) { return code < range.first; });
  if (after == std::begin(kRanges)) return CharKind::kO;
  const KindRange& range = *(after - 1);
  return code_point <= range.last ? range.kind : CharKind::kO;
}

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i]));
  };
  const uint32_t first = byte(0);
  const uint32_t length = first < 0x80       ? 1
                          : first >> 5 == 6  ? 2
                          : first >> 4 == 14 ? 3
                          : first >> 3 == 30 ? 4
                                             : 1;
  if (length == 1 || at + length > text.size()) return {first, 1};
  uint32_t value = first & (0x7Fu >> length);
  for (uint32_t i = 1; i < length; ++i) value = value << 6 | (byte(i) & 0x3F);
  return {value, length};
}

}  // namespace kvq
