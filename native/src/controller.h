// Decides how many bits a token keeps at each layer and KV head, when it leaves the window.
//
// A policy gives every token the log2 of what its error would cost, once for its key and once for
// its value: from a small network, or as a weighted sum of the same inputs. The sum of that and an
// offset, which steers towards a wanted average of bits, is cut at three thresholds into a tag.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "memory.h"

namespace kvq {

constexpr int kFeatures = 13;
constexpr int kEmbedding = 8;
constexpr int kMlpInputs = 32;
constexpr int kMlpHidden = 128;
// Rows (one per layer and head) that go through the network together.
constexpr int kJudgeRows = 96;
// Tokens between two looks at the budget.
constexpr int kBudgetTokens = 64;

// One layer of the network as it is stored: int8 weights [out][in], a scale and a bias per output.
struct DenseSetup {
  std::vector<int8_t> weights;
  std::vector<float> scale, bias;
};

// Everything a controller needs; Controller's constructor checks the sizes.
struct ControllerSetup {
  int layers = 0, kv_heads = 0, queries = 0, vocab = 0, window = 0;  // queries: per KV head
  std::array<float, 3> thresholds{};
  // [layers][kv_heads] x [2], [kFeatures], [kFeatures], [kEmbedding]
  std::vector<float> statics, f_mean, f_scale, embedding;
  // Features of tokens [vocab]; none at all: zeros.
  std::vector<float> rarity, entropy, variance;
  std::vector<DenseSetup> mlp;             // three layers, or none: then the sum of
  std::array<float, kFeatures> weights{};  // these times the standardised features,
  bool use_static = false;                 // the table of sensitivities,
  float noise = 0.0f;      // and a number in -1..1 that the place decides, times this
  bool per_token = false;  // one class for all layers, heads, keys and values
  // (average bits, offset), ascending; the average that is wanted.
  std::vector<std::pair<float, float>> budget;
  float body_bits = 0.0f;
};

// A token that leaves the window. Arrays are [layers * kv_heads]; of the norms only the part that
// is judged must be there.
struct LeavingToken {
  int position;
  int32_t token;
  const float *mass, *late, *peak;  // attention received: summed, from later queries, largest
  const float *k_norm, *v_norm;     // lengths of the stored key and value
  const float* entropy = nullptr;   // measured; nullptr: the table's
};

class Controller {
 public:
  // Throws Error("argument") when an array has the wrong size.
  Controller(ControllerSetup setup, const Kernels& kernels);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  bool per_token() const { return setup_.per_token; }
  // Bytes of the work space of one judge call; it must be aligned to 64 bytes.
  size_t scratch_bytes() const;
  // classes[i] = tag of K | tag of V << 2 for layer-and-head i in [begin, end); with per_token the
  // range must be whole.
  void judge(const LeavingToken& t, int begin, int end, float offset, uint8_t* scratch,
             uint8_t* classes) const;
  // The offset after n tokens have been quantized with so many bits on average.
  float offset(int n, double mean_bits) const;

 private:
  struct Work;

  void pack(const DenseSetup& from, int outputs, int inputs);
  Work work(uint8_t* scratch) const;
  void features(const LeavingToken& t, const float* shared, int i, float* f) const;
  int tag(float sensitivity) const;

  ControllerSetup setup_;
  Kernels kernels_;
  int places_;  // layers * kv_heads
  Buffer packed_;
  std::vector<MlpLayer> mlp_;
};

// Bits per number of a token of class c (K tag | V tag << 2), with scales, zero points and tags.
double class_bits(const std::array<int, 4>& ladder, int c, int head_dim);

}  // namespace kvq
