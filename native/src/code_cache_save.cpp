// A quantized cache as bytes.
//
// Layout, little-endian: the header below (32-bit words; the magic says how keys are stored), token
// ids [length], gaps [n][2], classes of positions [sinks, front) two a byte, then per (layer,
// head): per class the blocks (codes and scales of K, then of V; lanes without a token are zero),
// and per token of the half-precision area its key and value as halves and mass, late, peak as
// floats. Last the CRC-32 of all before it.
#include <algorithm>
#include <cstring>
#include <string>

#include "code_cache.h"
#include "code_lane.h"
#include "crc32.h"
#include "error.h"

namespace kvq {
namespace {

constexpr uint32_t kMagic = 0x4151564B;        // "KVQA", keys stored after RoPE
constexpr uint32_t kBeforeMagic = 0x5051564B;  // "KVQP", keys stored before RoPE
constexpr uint32_t kHalvesMagic = 0x5351564B;  // "KVQS", of a cache in 16 bits
constexpr uint32_t kVersion = 1;

struct Header {
  uint32_t magic, version, fingerprint, space, layers, kv_heads, head_dim, ladder, sinks, window;
  uint32_t length, front, gaps;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Error("snapshot", "the saved cache " + why);
}

class Writer {
 public:
  void put(const void* bytes, size_t n) {
    const auto* p = static_cast<const uint8_t*>(bytes);
    out.insert(out.end(), p, p + n);
  }
  std::vector<uint8_t> out;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  void get(void* to, size_t n) {
    if (n > rest_.size()) refuse("is truncated or has bytes too many");
    if (n > 0) std::memcpy(to, rest_.data(), n);
    rest_.remove_prefix(n);
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

uint32_t packed(const std::array<int, 4>& ladder) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word |= static_cast<uint32_t>(ladder[i]) << (8 * i);
  return word;
}

template <class T>
size_t bytes_of(const std::vector<T>& v) {
  return v.size() * sizeof(T);
}

}  // namespace

// What makes codes mean the same: means, exponents and the rotation.
uint32_t CodeCache::space_checksum() const {
  const CodeModel& m = *model_;
  uint32_t crc = crc32(m.k_mean.data(), bytes_of(m.k_mean));
  crc = crc32(m.v_mean.data(), bytes_of(m.v_mean), crc);
  crc = crc32(m.k_exponent.data(), bytes_of(m.k_exponent), crc);
  crc = crc32(m.v_exponent.data(), bytes_of(m.v_exponent), crc);
  return crc32(m.frequencies.data(), bytes_of(m.frequencies), crc);
}

std::vector<int> CodeCache::filled_slots() const {
  std::vector<int> slots;
  for (int p = 0; p < std::min(model_->sinks, length_); ++p) slots.push_back(model_->slot(p));
  for (int p = front_; p < length_; ++p) slots.push_back(model_->slot(p));
  return slots;
}

std::vector<uint8_t> CodeCache::save(const std::vector<int32_t>& tokens) const {
  const CodeModel& m = *model_;
  if (tokens.size() != static_cast<size_t>(length_)) {
    throw Error("argument", "a cache is saved with the tokens it holds");
  }
  const auto word = [](int n) { return static_cast<uint32_t>(n); };
  const Header header{m.before_rope ? kBeforeMagic : kMagic,
                      kVersion,
                      m.fingerprint,
                      space_checksum(),
                      word(m.shape.layers),
                      word(m.shape.kv_heads),
                      word(m.shape.head_dim),
                      packed(m.ladder),
                      word(m.sinks),
                      word(m.window),
                      word(length_),
                      word(front_),
                      static_cast<uint32_t>(gaps_.size())};
  Writer to;
  to.out.reserve(kv_bytes() + kv_bytes() / 16 + bytes_of(tokens) + 4096);
  to.put(&header, sizeof header);
  to.put(tokens.data(), bytes_of(tokens));
  to.put(gaps_.data(), bytes_of(gaps_));
  to.put(tags_.data() + static_cast<size_t>(m.sinks) * tag_stride_,
         static_cast<size_t>(front_ - m.sinks) * tag_stride_);

  const int dim = m.shape.head_dim;
  std::vector<uint8_t> codes, scales;
  const auto put_block = [&](const uint8_t* c, const uint8_t* s, int bits, int lanes, auto copy) {
    const size_t code_n = pool_->code_bytes(bits), scale_n = pool_->scale_bytes(bits);
    if (lanes < kBlockTokens) {
      // What a lane held before it was truncated is nobody's business.
      codes.assign(code_n, 0);
      scales.assign(scale_n, 0);
      for (int lane = 0; lane < lanes; ++lane) {
        copy(dim, bits, LaneFrom{c, s, lane}, LaneTo{codes.data(), scales.data(), lane});
      }
      c = codes.data();
      s = scales.data();
    }
    to.put(c, code_n);
    if (scale_n > 0) to.put(s, scale_n);
  };
  std::vector<uint16_t> half(static_cast<size_t>(dim));
  for (int layer = 0; layer < m.shape.layers; ++layer) {
    for (int head = 0; head < m.shape.kv_heads; ++head) {
      const size_t place = place_of(layer, head);
      for (int cls = 0; cls < kClasses; ++cls) {
        const int n = places_[place].lists[static_cast<size_t>(cls)].tokens;
        for (int b = 0; b * kBlockTokens < n; ++b) {
          const CodeBlock block = pointers(cells(place, cls, b), cls);
          const int lanes = std::min(kBlockTokens, n - b * kBlockTokens);
          put_block(block.k_codes, block.k_scales, k_bits(cls), lanes, copy_key_lane);
          put_block(block.v_codes, block.v_scales, v_bits(cls), lanes, copy_value_lane);
        }
      }
      for (const int slot : filled_slots()) {
        const int block = slot / kBlockTokens, lane = slot % kBlockTokens;
        const uint16_t* k = k_window(layer, head)[block] + lane;
        for (size_t d = 0; d < half.size(); ++d) half[d] = k[d * kBlockTokens];
        to.put(half.data(), bytes_of(half));
        to.put(v_window(layer, head)[block] + static_cast<size_t>(lane) * half.size(),
               bytes_of(half));
        for (int i = 0; i < 3; ++i) to.put(received(layer, head, i) + slot, sizeof(float));
      }
    }
  }
  const uint32_t crc = crc32(to.out.data(), to.out.size());
  to.put(&crc, sizeof crc);
  return std::move(to.out);
}

std::vector<int32_t> CodeCache::restore(std::string_view bytes) {
  const CodeModel& m = *model_;
  Header h;
  uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), std::min(bytes.size(), sizeof magic));
  if (magic == kHalvesMagic) refuse("is of a cache in 16 bits, not of a quantized one");
  if (magic == (m.before_rope ? kMagic : kBeforeMagic)) {
    refuse(m.before_rope
               ? "has keys after their rotation (rotated), this one before it (pre_rope)"
               : "has keys before their rotation (pre_rope), this one after it (rotated)");
  }
  if (magic != (m.before_rope ? kBeforeMagic : kMagic) ||
      bytes.size() < sizeof h + sizeof(uint32_t)) {
    refuse("is not one of this program's");
  }
  std::memcpy(&h, bytes.data(), sizeof h);
  const auto is = [](uint32_t word, int n) { return word == static_cast<uint32_t>(n); };
  if (h.version != kVersion) refuse("has another version");
  if (h.fingerprint != m.fingerprint) refuse("belongs to another model");
  if (!is(h.layers, m.shape.layers) || !is(h.kv_heads, m.shape.kv_heads) ||
      !is(h.head_dim, m.shape.head_dim)) {
    refuse("has another shape");
  }
  if (h.ladder != packed(m.ladder)) refuse("has other widths");
  if (!is(h.sinks, m.sinks) || !is(h.window, m.window)) refuse("has another window");
  if (h.space != space_checksum()) refuse("belongs to another controller");
  uint32_t crc;
  std::memcpy(&crc, bytes.data() + bytes.size() - sizeof crc, sizeof crc);
  bytes.remove_suffix(sizeof crc);
  if (crc32(bytes.data(), bytes.size()) != crc) refuse("is damaged or truncated");
  if (h.length > static_cast<uint32_t>(capacity_)) {
    refuse("holds " + std::to_string(h.length) + " tokens, the context " +
           std::to_string(capacity_));
  }
  const int length = static_cast<int>(h.length), ring = m.window_slots() - m.sinks;
  if (h.front < h.sinks || h.front > std::max(h.length, h.sinks) ||
      h.length > h.front + static_cast<uint32_t>(ring) || h.gaps > h.length) {
    refuse("contradicts itself");
  }

  Reader from(bytes.substr(sizeof h));
  std::vector<int32_t> tokens(h.length);
  from.get(tokens.data(), bytes_of(tokens));
  CodeCache other(model_, pool_, capacity_, kernels_);
  other.length_ = length;
  other.front_ = static_cast<int>(h.front);
  other.gaps_.resize(h.gaps);
  from.get(other.gaps_.data(), bytes_of(other.gaps_));
  int end = m.sinks;
  for (const Gap& gap : other.gaps_) {
    if (gap.first < end || gap.last <= gap.first || gap.last > other.front_) {
      refuse("contradicts itself");
    }
    end = gap.last;
  }
  from.get(other.tags_.data() + static_cast<size_t>(m.sinks) * tag_stride_,
           static_cast<size_t>(other.front_ - m.sinks) * tag_stride_);
  std::vector<uint16_t> half(static_cast<size_t>(m.shape.head_dim));
  for (int layer = 0; layer < m.shape.layers; ++layer) {
    for (int head = 0; head < m.shape.kv_heads; ++head) {
      const size_t place = place_of(layer, head);
      auto& lists = other.places_[place].lists;
      for (int p = m.sinks; p < other.front_; ++p) {
        if (!other.dropped(p)) ++lists[static_cast<size_t>(other.class_at(place, p))].tokens;
      }
      for (int cls = 0; cls < kClasses; ++cls) {
        const List& l = lists[static_cast<size_t>(cls)];
        while (l.blocks * kBlockTokens < l.tokens) {
          if (!other.take_block(place, cls)) {
            throw Error("memory", "the memory for caches is used up");
          }
          const Cells& c = other.cells(place, cls, l.blocks - 1);
          for (const auto& [cell, bits] :
               {std::pair{c.k, k_bits(cls)}, std::pair{c.v, v_bits(cls)}}) {
            from.get(pool_->codes(cell, bits), pool_->code_bytes(bits));
            from.get(pool_->scales(cell, bits), pool_->scale_bytes(bits));
          }
        }
      }
      for (const int slot : other.filled_slots()) {
        const int block = slot / kBlockTokens, lane = slot % kBlockTokens;
        uint16_t* k = other.k_window(layer, head)[block] + lane;
        from.get(half.data(), bytes_of(half));
        for (size_t d = 0; d < half.size(); ++d) k[d * kBlockTokens] = half[d];
        from.get(other.v_window(layer, head)[block] + static_cast<size_t>(lane) * half.size(),
                 bytes_of(half));
        for (int i = 0; i < 3; ++i) {
          from.get(other.received(layer, head, i) + slot, sizeof(float));
        }
      }
    }
  }
  if (from.left() != 0) refuse("is truncated or has bytes too many");
  *this = std::move(other);
  return tokens;
}

}  // namespace kvq
