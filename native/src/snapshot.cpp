#include "snapshot.h"

#include <cstring>
#include <string>

#include "crc32.h"
#include "error.h"
#include "kernels/kernels.h"

namespace kvq {
namespace {

constexpr uint32_t kMagic = 0x5351564B;           // "KVQS"
constexpr uint32_t kQuantizedMagic = 0x4151564B;  // "KVQA", of a quantized cache
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderWords = 8;

[[noreturn]] void refuse(const std::string& why) {
  throw Error("snapshot", "the saved cache " + why);
}

uint32_t word_at(std::string_view bytes, size_t index) {
  uint32_t w;
  std::memcpy(&w, bytes.data() + 4 * index, 4);
  return w;
}

size_t blocks_for(size_t tokens) { return (tokens + kBlockTokens - 1) / kBlockTokens; }

// Calls visit(block) for every block of the first n tokens, in the order of the format.
template <class Visit>
void each_block(const KvCache& cache, size_t blocks, Visit visit) {
  for (int layer = 0; layer < cache.shape().layers; ++layer) {
    for (int head = 0; head < cache.shape().kv_heads; ++head) {
      for (size_t b = 0; b < blocks; ++b) visit(cache.k_blocks(layer, head)[b]);
      for (size_t b = 0; b < blocks; ++b) visit(cache.v_blocks(layer, head)[b]);
    }
  }
}

}  // namespace

std::vector<uint8_t> save_snapshot(const KvCache& cache, uint32_t model_fingerprint,
                                   const std::vector<int32_t>& tokens) {
  const CacheShape& s = cache.shape();
  const size_t n = tokens.size(), blocks = blocks_for(n);
  const uint32_t header[kHeaderWords] = {kMagic,
                                         kVersion,
                                         model_fingerprint,
                                         static_cast<uint32_t>(s.layers),
                                         static_cast<uint32_t>(s.kv_heads),
                                         static_cast<uint32_t>(s.head_dim),
                                         static_cast<uint32_t>(PrecisionClass::kFp16),
                                         static_cast<uint32_t>(n)};
  const size_t size = sizeof header + 4 * n + 4 +
                      2 * blocks * cache.block_bytes() * static_cast<size_t>(s.layers * s.kv_heads);
  std::vector<uint8_t> out(size);
  uint8_t* to = out.data();
  const auto append = [&to](const void* p, size_t bytes) {
    if (bytes > 0) std::memcpy(to, p, bytes);
    to += bytes;
  };
  append(header, sizeof header);
  append(tokens.data(), 4 * n);
  each_block(cache, blocks, [&](const uint16_t* block) { append(block, cache.block_bytes()); });
  const uint32_t crc = crc32(out.data(), size - 4);
  append(&crc, 4);
  return out;
}

std::vector<int32_t> load_snapshot(KvCache& cache, uint32_t model_fingerprint,
                                   std::string_view bytes) {
  const CacheShape& s = cache.shape();
  if (bytes.size() >= 4 && word_at(bytes, 0) == kQuantizedMagic) {
    refuse("is of a quantized cache, not of one in 16 bits");
  }
  if (bytes.size() < 4 * (kHeaderWords + 1) || word_at(bytes, 0) != kMagic) {
    refuse("is not one of this program's");
  }
  if (word_at(bytes, 1) != kVersion) refuse("has another version");
  if (word_at(bytes, 2) != model_fingerprint) refuse("belongs to another model");
  if (word_at(bytes, 3) != static_cast<uint32_t>(s.layers) ||
      word_at(bytes, 4) != static_cast<uint32_t>(s.kv_heads) ||
      word_at(bytes, 5) != static_cast<uint32_t>(s.head_dim)) {
    refuse("has another shape");
  }
  if (word_at(bytes, 6) != static_cast<uint32_t>(PrecisionClass::kFp16)) {
    refuse("has another precision");
  }
  const size_t n = word_at(bytes, 7);
  if (n > static_cast<size_t>(s.capacity)) {
    refuse("holds " + std::to_string(n) + " tokens, the context " + std::to_string(s.capacity));
  }
  const size_t blocks = blocks_for(n);
  const size_t expected =
      4 * (kHeaderWords + n + 1) +
      2 * blocks * cache.block_bytes() * static_cast<size_t>(s.layers * s.kv_heads);
  if (bytes.size() != expected) refuse("is truncated or has bytes too many");
  uint32_t crc;
  std::memcpy(&crc, bytes.data() + expected - 4, 4);
  if (crc32(bytes.data(), expected - 4) != crc) refuse("is damaged");

  std::vector<int32_t> tokens(n);
  if (n > 0) std::memcpy(tokens.data(), bytes.data() + 4 * kHeaderWords, 4 * n);
  cache.truncate(0);
  cache.reserve(static_cast<int>(n));
  const char* from = bytes.data() + 4 * (kHeaderWords + n);
  each_block(cache, blocks, [&](uint16_t* block) {
    std::memcpy(block, from, cache.block_bytes());
    from += cache.block_bytes();
  });
  cache.set_length(static_cast<int>(n));
  return tokens;
}

}  // namespace kvq
