#include "controller.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "error.h"

namespace kvq {
namespace {

constexpr float kSmallest = 0x1p-20f;  // keeps the logarithm of zero finite
constexpr float kSteering = 2.3f / 256.0f, kSteeringTop = 6.0f;

void expect(bool right, const char* what) {
  if (!right) {
    throw Error("argument", std::string("the controller's ") + what + " have the wrong size");
  }
}

// -1..1, the same for a place on every machine.
float place_noise(int position, int place) {
  uint32_t x =
      static_cast<uint32_t>(position) * 0x9E3779B1u ^ static_cast<uint32_t>(place) * 0x85EBCA77u;
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  x ^= x >> 16;
  return static_cast<float>(static_cast<double>(x) * 0x1p-31 - 1.0);
}

int vector_bits(int width, int dim) {
  if (width == 16) return 16 * dim;
  return width * dim + (width == 8 ? 16 : 8);
}

}  // namespace

double class_bits(const std::array<int, 4>& ladder, int c, int head_dim) {
  const int k = ladder[static_cast<size_t>(c & 3)], v = ladder[static_cast<size_t>(c >> 2)];
  const int bits = vector_bits(k, head_dim) + vector_bits(v, head_dim) + 4;
  return static_cast<double>(bits) / (2.0 * head_dim);
}

// The parts of a judge call's scratch.
struct Controller::Work {
  float *in, *even, *odd;  // [kJudgeRows][kMlpInputs], [kMlpHidden], [kMlpHidden]
  float* mass;             // [places] log2 of the attention received
  float* pair;             // [places][2] sensitivities, K and V
};

Controller::Controller(ControllerSetup setup, const Kernels& kernels)
    : setup_(std::move(setup)), kernels_(kernels) {
  const ControllerSetup& s = setup_;
  if (s.layers < 1 || s.kv_heads < 1 || s.queries < 1 || s.window < 2) {
    throw Error("argument", "the controller has no layers, heads or window");
  }
  places_ = s.layers * s.kv_heads;
  const size_t places = static_cast<size_t>(places_);
  expect(s.statics.size() == 2 * places, "static sensitivities");
  expect(s.f_mean.size() == kFeatures * places && s.f_scale.size() == kFeatures * places,
         "standardising tables");
  expect(s.embedding.size() == kEmbedding * places, "embeddings");
  for (const auto* table : {&s.rarity, &s.entropy, &s.variance}) {
    expect(table->empty() || table->size() == static_cast<size_t>(s.vocab), "token features");
  }
  expect(!s.budget.empty(), "budgets");
  expect(s.mlp.empty() || s.mlp.size() == 3, "network layers");
  if (s.mlp.empty()) return;
  packed_ = Buffer(mlp_bytes(kMlpInputs, kMlpHidden) + mlp_bytes(kMlpHidden, kMlpHidden) +
                   mlp_bytes(kMlpHidden, 2));
  pack(s.mlp[0], kMlpHidden, kMlpInputs);
  pack(s.mlp[1], kMlpHidden, kMlpHidden);
  pack(s.mlp[2], 2, kMlpHidden);
  // An input that the network has no weights for must not widen the range of the others.
  for (int j = 0; j < kFeatures + kEmbedding; ++j) {
    bool used = false;
    for (int r = 0; r < kMlpHidden; ++r) {
      used |= s.mlp[0].weights[static_cast<size_t>(r * kMlpInputs + j)] != 0;
    }
    if (used) continue;
    for (size_t i = 0; i < places; ++i) {
      const size_t at = static_cast<size_t>(j);
      if (j < kFeatures)
        setup_.f_scale[i * kFeatures + at] = 0.0f;
      else
        setup_.embedding[i * kEmbedding + at - kFeatures] = 0.0f;
    }
  }
}

void Controller::pack(const DenseSetup& from, int outputs, int inputs) {
  const size_t rows = static_cast<size_t>(outputs);
  expect(from.weights.size() == rows * static_cast<size_t>(inputs) && from.scale.size() == rows &&
             from.bias.size() == rows,
         "network weights");
  size_t at = 0;
  for (const MlpLayer& layer : mlp_) at += mlp_bytes(layer.n_in, layer.n_out);
  uint8_t* weights = packed_.data() + at;
  kernels_.pack_mlp(from.weights.data(), inputs, outputs, weights);
  // The setup, which holds the scales and biases, stays where it is.
  mlp_.push_back({inputs, outputs, weights, from.scale.data(), from.bias.data(), outputs != 2});
}

size_t Controller::scratch_bytes() const {
  return sizeof(float) * (static_cast<size_t>(kJudgeRows) * (kMlpInputs + 2 * kMlpHidden) +
                          3 * static_cast<size_t>(places_));
}

Controller::Work Controller::work(uint8_t* scratch) const {
  Work w{};
  w.in = reinterpret_cast<float*>(scratch);
  w.even = w.in + kJudgeRows * kMlpInputs;
  w.odd = w.even + kJudgeRows * kMlpHidden;
  w.mass = w.odd + kJudgeRows * kMlpHidden;
  w.pair = w.mass + places_;
  return w;
}

// shared: the values of features 6 to 10, which do not depend on the place. f: [kFeatures].
void Controller::features(const LeavingToken& t, const float* shared, int i, float* f) const {
  const size_t at = static_cast<size_t>(i);
  const float queries = static_cast<float>(setup_.queries);
  const float most = static_cast<float>(setup_.window) * queries;
  f[1] = std::log2(t.late[i] / (0.5f * most) + kSmallest);
  f[2] = std::log2(t.peak[i] / queries + kSmallest);
  f[3] = std::log2(t.k_norm[i] + kSmallest);
  f[4] = std::log2(t.v_norm[i] + kSmallest);
  std::copy(shared, shared + 5, f + 6);
  f[11] = setup_.statics[2 * at];
  f[12] = setup_.statics[2 * at + 1];
  const float* mean = setup_.f_mean.data() + at * kFeatures;
  const float* scale = setup_.f_scale.data() + at * kFeatures;
  for (int j = 0; j < kFeatures; ++j) f[j] = (f[j] - mean[j]) * scale[j];
}

int Controller::tag(float sensitivity) const {
  int n = 0;
  for (const float threshold : setup_.thresholds) n += sensitivity > threshold;
  return n;
}

void Controller::judge(const LeavingToken& t, int begin, int end, float offset, uint8_t* scratch,
                       uint8_t* classes) const {
  const Work w = work(scratch);
  const float most = static_cast<float>(setup_.window * setup_.queries);
  float sum = 0.0f;
  for (int i = 0; i < places_; ++i) {
    w.mass[i] = std::log2(t.mass[i] / most + kSmallest);
    sum += w.mass[i];
  }
  const size_t token = static_cast<size_t>(t.token);
  const auto of_token = [token](const std::vector<float>& table) {
    return table.empty() ? 0.0f : table[token];
  };
  const float shared[5] = {sum / static_cast<float>(places_), of_token(setup_.rarity),
                           t.entropy ? *t.entropy : of_token(setup_.entropy),
                           of_token(setup_.variance),
                           std::log2(static_cast<float>(t.position) + 1.0f)};
  for (int first = begin; first < end; first += kJudgeRows) {
    const int rows = std::min(kJudgeRows, end - first);
    for (int r = 0; r < rows; ++r) {
      const int i = first + r, layer = i / setup_.kv_heads * setup_.kv_heads;
      const size_t at = static_cast<size_t>(i);
      float of_layer = 0.0f;
      for (int head = 0; head < setup_.kv_heads; ++head) of_layer += w.mass[layer + head];
      float f[kFeatures];
      f[0] = w.mass[i];
      f[5] = of_layer / static_cast<float>(setup_.kv_heads);
      features(t, shared, i, f);
      float* pair = w.pair + 2 * i;
      pair[0] = setup_.use_static ? setup_.statics[2 * at] : 0.0f;
      pair[1] = setup_.use_static ? setup_.statics[2 * at + 1] : 0.0f;
      if (mlp_.empty()) {
        float more = setup_.noise == 0.0f ? 0.0f : setup_.noise * place_noise(t.position, i);
        for (size_t j = 0; j < kFeatures; ++j) more += setup_.weights[j] * f[j];
        pair[0] += more;
        pair[1] += more;
        continue;
      }
      float* in = w.in + r * kMlpInputs;
      std::memset(in, 0, sizeof(float) * kMlpInputs);
      std::copy(f, f + kFeatures, in);
      const float* embedding = setup_.embedding.data() + at * kEmbedding;
      std::copy(embedding, embedding + kEmbedding, in + kFeatures);
    }
    if (mlp_.empty()) continue;
    kernels_.mlp_layer(mlp_[0], w.in, rows, w.even);
    kernels_.mlp_layer(mlp_[1], w.even, rows, w.odd);
    kernels_.mlp_layer(mlp_[2], w.odd, rows, w.even);
    for (int r = 0; r < 2 * rows; ++r) w.pair[2 * first + r] += w.even[r];
  }
  if (setup_.per_token) {
    float mean = 0.0f;
    for (int i = 0; i < 2 * places_; ++i) mean += w.pair[i];
    const int one = tag(mean / static_cast<float>(2 * places_) + offset);
    std::fill(classes, classes + places_, static_cast<uint8_t>(one | one << 2));
    return;
  }
  for (int i = begin; i < end; ++i) {
    classes[i] =
        static_cast<uint8_t>(tag(w.pair[2 * i] + offset) | tag(w.pair[2 * i + 1] + offset) << 2);
  }
}

float Controller::offset(int n, double mean_bits) const {
  const auto& table = setup_.budget;
  const float body = setup_.body_bits;
  float base = table.back().second;
  if (body <= table.front().first) {
    base = table.front().second;
  } else if (body < table.back().first) {
    const auto above = std::upper_bound(table.begin(), table.end(), body,
                                        [](float b, const auto& entry) { return b < entry.first; });
    const auto below = above - 1;
    const float part = (body - below->first) / (above->first - below->first);
    base = below->second + part * (above->second - below->second);
  }
  const int counted = n / kBudgetTokens * kBudgetTokens;
  if (counted == 0) return base;
  const float error = body - static_cast<float>(mean_bits);
  return base +
         std::clamp(kSteering * error * static_cast<float>(counted), -kSteeringTop, kSteeringTop);
}

}  // namespace kvq
