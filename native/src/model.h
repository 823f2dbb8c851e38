// Hyperparameters and packed weights of a llama-architecture model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf.h"
#include "memory.h"
#include "packed_matrix.h"
#include "thread_pool.h"

namespace kvq {

struct Hyper {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn = 0;
  int vocab = 0;
  int context = 0;  // tokens the model was trained for
  float rms_epsilon = 0.0f;
  float rope_theta = 0.0f;

  int q_rows() const { return heads * head_dim; }
  int kv_rows() const { return kv_heads * head_dim; }
};

// Reads and checks the hyperparameters; every inconsistency is an Error("model").
Hyper read_hyper(const Gguf& file);

struct Layer {
  PackedMatrix q, k, v, o, gate, up, down;
  const float* attention_norm = nullptr;  // [hidden]
  const float* ffn_norm = nullptr;        // [hidden]
};

class Model {
 public:
  // Loads and repacks on all threads of the pool.
  Model(const Gguf& file, ThreadPool& pool);

  const Hyper& hyper() const { return hyper_; }
  const std::vector<Layer>& layers() const { return layers_; }
  const PackedMatrix& embedding() const { return embedding_; }
  const PackedMatrix& head() const { return tied_ ? embedding_ : head_; }
  const float* final_norm() const { return final_norm_; }
  // Tells weights apart: saved caches of another model are refused by it.
  uint32_t fingerprint() const { return fingerprint_; }
  size_t weight_bytes() const { return memory_.size() + norms_.size() * sizeof(float); }

 private:
  Hyper hyper_;
  bool tied_ = true;
  Buffer memory_;
  std::vector<float> norms_;
  std::vector<Layer> layers_;
  PackedMatrix embedding_, head_;
  const float* final_norm_ = nullptr;
  uint32_t fingerprint_ = 0;
};

}  // namespace kvq
