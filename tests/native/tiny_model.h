// Writes GGUF bytes: a tiny random llama model, or any header a test wants.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "fp16.h"

namespace kvq::test {

class GgufWriter {
 public:
  void meta_u32(const std::string& key, uint32_t v) { begin(key, 4), put(v); }
  void meta_f32(const std::string& key, float v) { begin(key, 6), put(v); }
  void meta_string(const std::string& key, const std::string& v) {
    begin(key, 8), put_string(meta_, v);
  }
  void tensor(const std::string& name, uint32_t type, std::vector<uint64_t> dims,
              const std::vector<uint8_t>& bytes) {
    put_string(infos_, name);
    put_to(infos_, static_cast<uint32_t>(dims.size()));
    for (uint64_t d : dims) put_to(infos_, d);
    put_to(infos_, type);
    put_to(infos_, static_cast<uint64_t>(data_.size()));
    data_.insert(data_.end(), bytes.begin(), bytes.end());
    data_.resize((data_.size() + 31) / 32 * 32);
    ++tensors_;
  }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out;
    put_to(out, uint32_t{0x46554747});
    put_to(out, uint32_t{3});
    put_to(out, tensors_);
    put_to(out, metas_);
    out.insert(out.end(), meta_.begin(), meta_.end());
    out.insert(out.end(), infos_.begin(), infos_.end());
    out.resize((out.size() + 31) / 32 * 32);
    out.insert(out.end(), data_.begin(), data_.end());
    return out;
  }

 private:
  template <class T>
  static void put_to(std::vector<uint8_t>& to, T v) {
    uint8_t raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    for (uint8_t byte : raw) to.push_back(byte);
  }
  static void put_string(std::vector<uint8_t>& to, const std::string& s) {
    put_to(to, static_cast<uint64_t>(s.size()));
    for (char c : s) to.push_back(static_cast<uint8_t>(c));
  }
  template <class T>
  void put(T v) {
    put_to(meta_, v);
  }
  void begin(const std::string& key, uint32_t type) {
    put_string(meta_, key);
    put(type);
    ++metas_;
  }
  std::vector<uint8_t> meta_, infos_, data_;
  uint64_t tensors_ = 0, metas_ = 0;
};

struct TinyShape {
  int layers = 2, hidden = 64, heads = 4, kv_heads = 2, ffn = 96, vocab = 56, context = 600;
};

// Rows of random values in file type 0 (F32), 1 (F16), 3 (Q4_1) or 8 (Q8_0).
inline std::vector<uint8_t> random_rows(uint32_t type, int rows, int cols, Random& random) {
  std::vector<uint8_t> out;
  const auto half = [&](float f) {
    const uint16_t h = float_to_fp16(f);
    out.push_back(static_cast<uint8_t>(h));
    out.push_back(static_cast<uint8_t>(h >> 8));
  };
  const float size = 1.0f / std::sqrt(static_cast<float>(cols));
  for (int i = 0; i < rows * cols; ++i) {
    if (type == 0) {
      const float f = random.uniform() * size;
      uint8_t raw[4];
      std::memcpy(raw, &f, 4);
      out.insert(out.end(), raw, raw + 4);
    } else if (type == 1) {
      half(random.uniform() * size);
    } else if (i % 32 == 0) {
      half(size / (type == 3 ? 8.0f : 127.0f));
      if (type == 3) half(-size);
      for (int b = 0; b < (type == 3 ? 16 : 32); ++b)
        out.push_back(static_cast<uint8_t>(random.next()));
    }
  }
  return out;
}

inline GgufWriter tiny_model(const TinyShape& s, uint32_t type, uint64_t seed = 1) {
  GgufWriter w;
  Random random(seed);
  w.meta_string("general.architecture", "llama");
  w.meta_u32("llama.block_count", static_cast<uint32_t>(s.layers));
  w.meta_u32("llama.embedding_length", static_cast<uint32_t>(s.hidden));
  w.meta_u32("llama.attention.head_count", static_cast<uint32_t>(s.heads));
  w.meta_u32("llama.attention.head_count_kv", static_cast<uint32_t>(s.kv_heads));
  w.meta_u32("llama.feed_forward_length", static_cast<uint32_t>(s.ffn));
  w.meta_u32("llama.context_length", static_cast<uint32_t>(s.context));
  w.meta_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  w.meta_f32("llama.rope.freq_base", 10000.0f);
  const auto matrix = [&](const std::string& name, int rows, int cols, uint32_t t) {
    w.tensor(name, t, {static_cast<uint64_t>(cols), static_cast<uint64_t>(rows)},
             random_rows(t, rows, cols, random));
  };
  const auto norm = [&](const std::string& name) {
    std::vector<uint8_t> ones;
    for (int i = 0; i < s.hidden; ++i) ones.insert(ones.end(), {0, 0, 0x80, 0x3F});
    w.tensor(name, 0, {static_cast<uint64_t>(s.hidden)}, ones);
  };
  const int kv = s.hidden / s.heads * s.kv_heads;
  matrix("token_embd.weight", s.vocab, s.hidden, type == 3 ? 8 : type);
  norm("output_norm.weight");
  for (int i = 0; i < s.layers; ++i) {
    const std::string p = "blk." + std::to_string(i) + ".";
    norm(p + "attn_norm.weight");
    norm(p + "ffn_norm.weight");
    matrix(p + "attn_q.weight", s.hidden, s.hidden, type);
    matrix(p + "attn_k.weight", kv, s.hidden, type);
    matrix(p + "attn_v.weight", kv, s.hidden, type);
    matrix(p + "attn_output.weight", s.hidden, s.hidden, type);
    matrix(p + "ffn_gate.weight", s.ffn, s.hidden, type);
    matrix(p + "ffn_up.weight", s.ffn, s.hidden, type);
    matrix(p + "ffn_down.weight", s.hidden, s.ffn, type);
  }
  return w;
}

}  // namespace kvq::test
