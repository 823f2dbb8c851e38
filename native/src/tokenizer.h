// Byte-level BPE from a GGUF file's metadata; equal to kvquant.tokenizer token by token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gguf.h"

namespace kvq {

class Tokenizer {
 public:
  // Throws Error("model") when the metadata does not describe such a tokenizer.
  explicit Tokenizer(const Gguf& file);

  int vocab() const { return static_cast<int>(tokens_.size()); }
  // Token ids of UTF-8 text. special: spellings of control tokens become these tokens; never for
  // text that comes from a user.
  std::vector<int32_t> encode(std::string_view text, bool special) const;
  // The bytes that a token adds, perhaps a part of a character; none for a control token unless
  // special.
  const std::string& token_bytes(int32_t token, bool special) const;
  bool is_control(int32_t token) const { return kinds_[static_cast<size_t>(token)] == kControl; }
  std::vector<int32_t> control_ids() const;
  // -1 when there is no control token of this spelling.
  int32_t special_id(std::string_view spelling) const;

 private:
  static constexpr uint8_t kNormal = 1, kControl = 3, kUserDefined = 4;
  struct Merge {
    uint32_t rank;
    int32_t token;
  };
  void add_merges(const std::vector<std::string>& merges);
  const Merge* merge_of(int32_t left, int32_t right) const;
  void encode_plain(std::string_view text, std::vector<int32_t>& out) const;
  size_t word_end(std::string_view text, size_t begin) const;
  void merge_word(std::string_view word, std::vector<int32_t>& out) const;

  std::vector<std::string> tokens_;  // spellings
  std::vector<std::string> bytes_;   // what they stand for
  std::vector<uint8_t> kinds_;
  bool split_digits_ = false;
  std::string empty_;
  int32_t byte_ids_[256];
  std::unordered_map<std::string_view, int32_t> plain_, added_;  // into tokens_
  std::vector<int32_t> added_by_byte_[256];  // added tokens by first byte, the longest first
  // Open addressing over pairs of tokens; empty slots have the key ~0.
  std::vector<uint64_t> merge_keys_;
  std::vector<Merge> merges_;
};

}  // namespace kvq
