#include "tokenizer.h"

#include <algorithm>
#include <queue>

#include "error.h"
#include "unicode.h"

namespace kvq {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error("model", "the model file " + what); }

// The printable character that stands for each byte in the vocabulary.
void byte_characters(uint32_t out[256]) {
  uint32_t next = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b < 0x7F) || (b >= 0xA1 && b < 0xAD) || b >= 0xAE;
    out[b] = printable ? b : next++;
  }
}

void append_utf8(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else {
    out.push_back(static_cast<char>(0xC0 | code >> 6));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

size_t pair_hash(uint64_t key) { return static_cast<size_t>((key * 0x9E3779B97F4A7C15ull) >> 32); }

}  // namespace

Tokenizer::Tokenizer(const Gguf& file) {
  const std::string* model = file.get_string("tokenizer.ggml.model");
  if (!model || *model != "gpt2") fail("has no byte-level BPE tokenizer");
  const std::string* pre = file.get_string("tokenizer.ggml.pre");
  if (pre && *pre != "smollm" && *pre != "gpt-2" && *pre != "default") {
    fail("cuts words in the unknown way '" + *pre + "'");
  }
  split_digits_ = pre && *pre == "smollm";
  const auto* tokens = file.get_strings("tokenizer.ggml.tokens");
  const auto* merges = file.get_strings("tokenizer.ggml.merges");
  const auto* types = file.get_ints("tokenizer.ggml.token_type");
  if (!tokens || !merges) fail("has no tokenizer tokens or merges");
  if (types && types->size() != tokens->size()) fail("does not have a type for each of its tokens");
  tokens_ = *tokens;
  kinds_.assign(tokens_.size(), kNormal);
  uint32_t characters[256];
  byte_characters(characters);
  std::unordered_map<uint32_t, char> byte_of;
  for (uint32_t b = 0; b < 256; ++b) byte_of[characters[b]] = static_cast<char>(b);
  plain_.reserve(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (types) kinds_[i] = static_cast<uint8_t>((*types)[i]);
    const bool added = kinds_[i] == kControl || kinds_[i] == kUserDefined;
    if (!(added ? added_ : plain_).emplace(tokens_[i], static_cast<int32_t>(i)).second ||
        (added && tokens_[i].empty())) {
      fail("has the same token twice");
    }
    if (added)
      added_by_byte_[static_cast<uint8_t>(tokens_[i][0])].push_back(static_cast<int32_t>(i));
    // Spelled in byte characters, or else standing for itself.
    std::string raw;
    bool spelled = !added;
    for (size_t at = 0; spelled && at < tokens_[i].size();) {
      const CodePoint c = code_point_at(tokens_[i], at);
      const auto found = byte_of.find(c.value);
      spelled = found != byte_of.end();
      if (spelled) raw.push_back(found->second);
      at += c.bytes;
    }
    bytes_.push_back(spelled ? raw : tokens_[i]);
  }
  for (auto& list : added_by_byte_) {
    std::stable_sort(list.begin(), list.end(), [this](int32_t a, int32_t b) {
      return tokens_[static_cast<size_t>(a)].size() > tokens_[static_cast<size_t>(b)].size();
    });
  }
  for (uint32_t b = 0; b < 256; ++b) {
    std::string spelling;
    append_utf8(characters[b], spelling);
    const auto found = plain_.find(spelling);
    byte_ids_[b] = found == plain_.end() ? -1 : found->second;
  }
  add_merges(*merges);
}

void Tokenizer::add_merges(const std::vector<std::string>& merges) {
  size_t slots = 16;
  while (slots < 2 * merges.size()) slots *= 2;
  merge_keys_.assign(slots, ~uint64_t{0});
  merges_.resize(slots);
  std::string both;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ');
    if (space == std::string_view::npos) fail("has a merge without a space");
    both.assign(merge.substr(0, space));
    both.append(merge.substr(space + 1));
    const auto left = plain_.find(merge.substr(0, space));
    const auto right = plain_.find(merge.substr(space + 1));
    const auto result = plain_.find(both);
    if (left == plain_.end() || right == plain_.end() || result == plain_.end()) {
      fail("has a merge of tokens that it lacks");
    }
    const uint64_t key = pair_key(left->second, right->second);
    size_t slot = pair_hash(key) & (slots - 1);
    while (merge_keys_[slot] != ~uint64_t{0} && merge_keys_[slot] != key)
      slot = (slot + 1) & (slots - 1);
    if (merge_keys_[slot] == key) continue;
    merge_keys_[slot] = key;
    merges_[slot] = {static_cast<uint32_t>(rank), result->second};
  }
}

const Tokenizer::Merge* Tokenizer::merge_of(int32_t left, int32_t right) const {
  const uint64_t key = pair_key(left, right);
  const size_t mask = merge_keys_.size() - 1;
  for (size_t slot = pair_hash(key) & mask; merge_keys_[slot] != ~uint64_t{0};
       slot = (slot + 1) & mask) {
    if (merge_keys_[slot] == key) return &merges_[slot];
  }
  return nullptr;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool special) const {
  std::vector<int32_t> out;
  size_t plain = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const int32_t token : added_by_byte_[static_cast<uint8_t>(text[at])]) {
      if (!special && is_control(token)) continue;
      const std::string& spelling = tokens_[static_cast<size_t>(token)];
      if (text.substr(at, spelling.size()) != spelling) continue;
      encode_plain(text.substr(plain, at - plain), out);
      out.push_back(token);
      plain = at + spelling.size();
      at = plain - 1;
      break;
    }
  }
  encode_plain(text.substr(plain), out);
  return out;
}

const std::string& Tokenizer::token_bytes(int32_t token, bool special) const {
  if (token < 0 || token >= vocab()) {
    throw Error("argument", std::to_string(token) + " is not a token of this model");
  }
  return is_control(token) && !special ? empty_ : bytes_[static_cast<size_t>(token)];
}

std::vector<int32_t> Tokenizer::control_ids() const {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < vocab(); ++i) {
    if (is_control(i)) ids.push_back(i);
  }
  return ids;
}

int32_t Tokenizer::special_id(std::string_view spelling) const {
  const auto found = added_.find(spelling);
  return found != added_.end() && is_control(found->second) ? found->second : -1;
}

void Tokenizer::encode_plain(std::string_view text, std::vector<int32_t>& out) const {
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    merge_word(text.substr(at, end - at), out);
    at = end;
  }
}

// Where the word that begins at `begin` ends. In this order: a contraction; letters with one space
// before them; a digit (or a run of numbers with one space); other characters with one space; white
// space, of which the last one is left to the word that follows, if one follows.
size_t Tokenizer::word_end(std::string_view text, size_t begin) const {
  const auto kind_at = [&](size_t at) { return char_kind(code_point_at(text, at).value); };
  const auto run_end = [&](size_t at, CharKind kind) {
    while (at < text.size() && kind_at(at) == kind) at += code_point_at(text, at).bytes;
    return at;
  };
  if (text[begin] == '\'') {
    const std::string_view rest = text.substr(begin + 1);
    for (const std::string_view two : {"re", "ve", "ll"}) {
      if (rest.substr(0, 2) == two) return begin + 3;
    }
    if (!rest.empty() && std::string_view("stmd").find(rest[0]) != std::string_view::npos) {
      return begin + 2;
    }
  }
  const size_t start = begin + (text[begin] == ' ' ? 1 : 0);
  if (start < text.size()) {
    const CharKind kind = kind_at(start);
    if (kind == CharKind::kN && split_digits_) {
      if (start == begin) return begin + code_point_at(text, begin).bytes;
    } else if (kind != CharKind::kS) {
      return run_end(start, kind);
    }
  }
  size_t end = begin, last = begin;
  while (end < text.size() && kind_at(end) == CharKind::kS) {
    last = end;
    end += code_point_at(text, end).bytes;
  }
  const bool whole = end == text.size() || (split_digits_ && kind_at(end) == CharKind::kN);
  return whole || last == begin ? end : last;
}

// Always the earliest merge of the list, of equals the leftmost. A queue and a linked list keep it
// at n log n: a word may be as long as the text. Bytes that the vocabulary lacks are dropped.
void Tokenizer::merge_word(std::string_view word, std::vector<int32_t>& out) const {
  struct Offer {
    uint32_t rank;
    int left;
    int32_t left_id, right_id, token;
    bool operator<(const Offer& o) const { return rank != o.rank ? rank > o.rank : left > o.left; }
  };
  std::vector<int32_t> ids;
  ids.reserve(word.size());
  for (const char c : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id >= 0) ids.push_back(id);
  }
  const int n = static_cast<int>(ids.size());
  std::vector<int> left(ids.size()), right(ids.size());
  std::priority_queue<Offer> queue;
  const auto id = [&](int i) -> int32_t& { return ids[static_cast<size_t>(i)]; };
  const auto offer = [&](int a, int b) {
    if (const Merge* m = merge_of(id(a), id(b))) queue.push({m->rank, a, id(a), id(b), m->token});
  };
  for (int i = 0; i < n; ++i) {
    left[static_cast<size_t>(i)] = i - 1;
    right[static_cast<size_t>(i)] = i + 1;
    if (i + 1 < n) offer(i, i + 1);
  }
  while (!queue.empty()) {
    const Offer best = queue.top();
    queue.pop();
    const int a = best.left, b = right[static_cast<size_t>(a)];
    if (id(a) != best.left_id || b >= n || id(b) != best.right_id) continue;
    id(a) = best.token;
    id(b) = -1;
    const int next = right[static_cast<size_t>(b)];
    right[static_cast<size_t>(a)] = next;
    if (next < n) {
      left[static_cast<size_t>(next)] = a;
      offer(a, next);
    }
    if (left[static_cast<size_t>(a)] >= 0) offer(left[static_cast<size_t>(a)], a);
  }
  for (const int32_t token : ids) {
    if (token >= 0) out.push_back(token);
  }
}

}  // namespace kvq
