// A cache as bytes: saved prompts that load in milliseconds instead of being computed again.
//
// Layout, little-endian: "KVQS", version, model fingerprint, layers, kv_heads, head_dim, precision
// class, tokens n, token ids [n], then per layer and head the K blocks and the V blocks, then the
// CRC-32 of all before it. All numbers are 32 bits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kv_cache.h"

namespace kvq {

// tokens: what the cache holds, cache.length() of them.
std::vector<uint8_t> save_snapshot(const KvCache& cache, uint32_t model_fingerprint,
                                   const std::vector<int32_t>& tokens);

// Fills the cache and returns the tokens. Throws Error("snapshot") for another model or format, for
// damaged bytes and for more tokens than the cache can hold; the cache is then unchanged.
std::vector<int32_t> load_snapshot(KvCache& cache, uint32_t model_fingerprint,
                                   std::string_view bytes);

}  // namespace kvq
