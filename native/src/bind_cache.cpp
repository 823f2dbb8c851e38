// Caches and the steps over them: the Python classes Cache and Backend.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "bind.h"
#include "error.h"
#include "sampler.h"
#include "snapshot.h"

namespace kvq::bind {
using namespace nb::literals;

namespace {

using Matrix = nb::ndarray<nb::numpy, float, nb::ndim<2>>;
using Cube = nb::ndarray<nb::numpy, float, nb::ndim<3>>;
using Bytes3 = nb::ndarray<nb::numpy, uint8_t, nb::ndim<3>>;

// Looks for Ctrl-C and for the caller's event (None, or an object with is_set) while the lock of
// the interpreter is released, at most every 20 ms.
class Signals {
 public:
  explicit Signals(nb::handle cancel) : cancel_(cancel) {}
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return false;
    last_ = now;
    const nb::gil_scoped_acquire lock;
    raised_ = PyErr_CheckSignals() != 0;
    if (raised_ || cancel_.is_none()) return raised_;
    try {
      return nb::cast<bool>(cancel_.attr("is_set")());
    } catch (nb::python_error& e) {
      e.restore();
      raised_ = true;
      return true;
    }
  }
  bool raised() const { return raised_; }

 private:
  nb::handle cancel_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool raised_ = false;
};

// Runs a step without the interpreter's lock; a KeyboardInterrupt raised meanwhile comes through.
template <class Step>
void run_step(nb::handle cancel, Step step) {
  Signals signals(cancel);
  const StopCheck stop = std::ref(signals);
  try {
    const nb::gil_scoped_release unlocked;
    step(stop);
  } catch (const Error&) {
    if (signals.raised()) throw nb::python_error();
    throw;
  }
}

// [rows][stride] floats that numpy frees; columns beyond the vocabulary are cut off by the view.
struct Logits {
  std::unique_ptr<float[]> data;
  size_t rows, cols, stride;
  Logits(size_t rows_, size_t cols_, size_t stride_)
      : data(new float[std::max<size_t>(1, rows_ * stride_)]),
        rows(rows_),
        cols(cols_),
        stride(stride_) {}
  Matrix release() {
    float* p = data.release();
    nb::capsule owner(p, [](void* q) noexcept { delete[] static_cast<float*>(q); });
    const size_t shape[2] = {rows, cols};
    const int64_t strides[2] = {static_cast<int64_t>(stride), 1};
    return Matrix(p, 2, shape, owner, strides);
  }
};

std::vector<int32_t> to_vector(Tokens tokens) {
  return {tokens.data(), tokens.data() + tokens.shape(0)};
}

// One sequence's cache: halves or codes.
class Cache {
 public:
  Cache(std::shared_ptr<Engine> engine, int n_ctx, bool quantized) : engine_(std::move(engine)) {
    const int most = engine_->model().hyper().context;
    if (n_ctx < 1 || n_ctx > most) {
      throw Error("argument", "the context must be from 1 to " + std::to_string(most) + " tokens");
    }
    if (quantized)
      codes_ = engine_->code_sequence(n_ctx);
    else
      halves_ = std::make_unique<KvCache>(engine_->cache_shape(n_ctx));
  }

  nb::tuple compute(Tokens tokens, int n_past, int rows, bool hidden, nb::object allowed);
  Cube states(Tokens tokens, int n_past, std::vector<int> layers, int stop_after);
  void extend(Tokens tokens, int n_past, bool last, nb::object allowed, nb::object cancel);
  int32_t pick(Sampler& sampler, Tokens recent, Tokens forbidden);
  Matrix last_logits() const {
    const float* from = last();
    Logits copy(1, vocab(), vocab());
    std::copy(from, from + vocab(), copy.data.get());
    return copy.release();
  }
  Matrix forward(Tokens tokens, int n_past, int rows) {
    return nb::cast<Matrix>(compute(tokens, n_past, rows, false, nb::none())[0]);
  }

  void truncate(int n) {
    if (n < 0 || n > length()) throw Error("argument", "the cache holds fewer tokens");
    if (n < length()) has_last_ = false;
    if (codes_) return codes_->truncate(n);
    halves_->truncate(n);
    tokens_.resize(static_cast<size_t>(n));
  }
  nb::bytes snapshot() const {
    std::vector<uint8_t> bytes;
    {
      const nb::gil_scoped_release unlocked;
      bytes = saved();
    }
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::vector<int32_t> restore(nb::bytes bytes) {
    const std::string_view view(bytes.c_str(), bytes.size());
    const nb::gil_scoped_release unlocked;
    take(view);
    has_last_ = false;
    return codes_ ? codes_->tokens() : tokens_;
  }
  std::unique_ptr<Cache> fork() const {
    const nb::gil_scoped_release unlocked;
    std::unique_ptr<Cache> other(new Cache(engine_));
    if (codes_) {
      other->codes_ = std::make_unique<CodeSequence>(codes_->fork());
    } else {
      const std::vector<uint8_t> bytes = saved();
      other->halves_ = std::make_unique<KvCache>(halves_->shape());
      other->take({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    other->last_ = last_;
    other->has_last_ = has_last_;
    return other;
  }
  void requantize(int shift) {
    const nb::gil_scoped_release unlocked;
    quantized().requantize(shift);
    has_last_ = false;
  }
  std::vector<int32_t> slide(int n) {
    const nb::gil_scoped_release unlocked;
    CodeSequence& s = quantized();
    if (n < 0 || n > s.length() - s.cache().model().sinks) {
      throw Error("argument", "the cache cannot slide by so many tokens");
    }
    s.slide(n);
    has_last_ = false;
    return s.tokens();
  }

  int length() const { return any().length(); }
  int capacity() const { return any().capacity(); }
  size_t kv_bytes() const {
    if (codes_) return codes_->cache().kv_bytes();
    const CacheShape& s = halves_->shape();
    return static_cast<size_t>(s.layers) * 2 * static_cast<size_t>(s.kv_heads * s.head_dim) * 2 *
           static_cast<size_t>(length());
  }
  size_t page_bytes() const { return codes_ ? codes_->cache().page_bytes() : halves_->bytes(); }
  size_t metadata_bytes() const { return codes_ ? codes_->cache().metadata_bytes() : 0; }
  double bits_mean() const { return codes_ ? codes_->cache().bits_mean() : 16.0; }
  int front() const { return codes_ ? codes_->cache().front() : 0; }
  std::array<int, 4> ladder() const {
    return codes_ ? codes_->cache().model().ladder : std::array<int, 4>{16, 16, 16, 16};
  }
  // By class; of halves there are none.
  std::vector<uint64_t> class_tokens() const {
    if (!codes_) return std::vector<uint64_t>(kClasses, 0);
    const auto& counts = codes_->cache().class_tokens();
    return {counts.begin(), counts.end()};
  }
  Bytes3 classes() const {
    const CacheShape shape = engine_->cache_shape(0);
    std::vector<uint8_t> found;
    if (codes_) found = codes_->cache().classes();
    const size_t layers = static_cast<size_t>(shape.layers);
    const size_t heads = static_cast<size_t>(shape.kv_heads);
    auto* p = new uint8_t[std::max<size_t>(1, found.size())];
    std::copy(found.begin(), found.end(), p);
    nb::capsule owner(p, [](void* q) noexcept { delete[] static_cast<uint8_t*>(q); });
    return Bytes3(p, {found.size() / (layers * heads), layers, heads}, owner);
  }
  // Times that the pool of pages asked the system for memory, for all caches of the model.
  size_t allocations() const { return codes_ ? engine_->pool().counters().allocations : 1; }
  // Part of the taken pages that holds nothing.
  double fragmentation() const {
    if (codes_) return engine_->pool().counters().unused;
    const double taken = static_cast<double>(page_bytes());
    return taken > 0.0 ? 1.0 - static_cast<double>(kv_bytes()) / taken : 0.0;
  }
  std::pair<uint64_t, uint64_t> judged() const {
    return codes_ ? codes_->judged() : std::pair<uint64_t, uint64_t>{0, 0};
  }

  AnyCache any() const { return {halves_.get(), codes_.get()}; }
  Engine* engine() const { return engine_.get(); }
  // After a step of several caches: the token and the logits after it.
  void note(int32_t token, const float* logits) {
    if (!codes_) tokens_.push_back(token);
    last_.assign(logits, logits + vocab());
    has_last_ = true;
  }

 private:
  explicit Cache(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  size_t vocab() const { return static_cast<size_t>(engine_->model().hyper().vocab); }
  const float* last() const {
    if (!has_last_) throw Error("argument", "the logits after the last token were not computed");
    return last_.data();
  }
  CodeSequence& quantized() const {
    if (!codes_) throw Error("argument", "only a quantized cache can do that");
    return *codes_;
  }
  std::vector<uint8_t> saved() const {
    return codes_ ? codes_->save()
                  : save_snapshot(*halves_, engine_->model().fingerprint(), tokens_);
  }
  void take(std::string_view bytes) {
    if (codes_)
      codes_->restore(bytes);
    else
      tokens_ = load_snapshot(*halves_, engine_->model().fingerprint(), bytes);
  }
  void run(Tokens tokens, int n_past, Wanted wanted, nb::handle allowed, nb::handle cancel);

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<KvCache> halves_;
  std::unique_ptr<CodeSequence> codes_;  // has its tokens itself
  std::vector<int32_t> tokens_;
  std::vector<float> last_, work_;  // logits after the last token; scratch of pick
  bool has_last_ = false;
};

std::vector<int32_t> sorted_tokens(nb::handle allowed, int vocab) {
  std::vector<int32_t> list = nb::cast<std::vector<int32_t>>(allowed);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.empty() || list.front() < 0 || list.back() >= vocab) {
    throw Error("argument", "allowed tokens must be of the vocabulary, and at least one");
  }
  return list;
}

// Cuts the cache to n_past and appends the tokens; after a failure it holds n_past tokens, as
// before.
void Cache::run(Tokens tokens, int n_past, Wanted wanted, nb::handle allowed, nb::handle cancel) {
  const int n = static_cast<int>(tokens.shape(0));
  if (n < 1 || wanted.logit_rows < 0 || wanted.logit_rows > n || n_past < 0 || n_past > length()) {
    throw Error("argument", "the tokens, the past or the rows are out of range");
  }
  std::vector<int32_t> list;
  if (!allowed.is_none()) {
    list = sorted_tokens(allowed, engine_->model().hyper().vocab);
    wanted.allowed = list.data();
    wanted.n_allowed = static_cast<int>(list.size());
  }
  // Copied, since another thread of Python may change the array while it is not locked.
  const std::vector<int32_t> input = to_vector(tokens);
  truncate(n_past);
  has_last_ = false;
  // Of several steps the first ones may quantize tokens, which cannot be undone.
  std::unique_ptr<CodeSequence> before;
  if (codes_ && n > engine_->code_rows()) before = std::make_unique<CodeSequence>(codes_->fork());
  try {
    run_step(cancel, [&](const StopCheck& stop) {
      engine_->prefill(any(), input.data(), n, wanted, stop);
    });
  } catch (...) {
    if (before)
      codes_ = std::move(before);
    else
      truncate(n_past);
    throw;
  }
  if (halves_ && wanted.stop_after == 0) tokens_.insert(tokens_.end(), input.begin(), input.end());
}

// [layers][n][hidden]: the residual stream after so many layers, for each of `layers`.
Cube Cache::states(Tokens tokens, int n_past, std::vector<int> layers, int stop_after) {
  const Hyper& h = engine_->model().hyper();
  const int last = stop_after > 0 ? stop_after : h.layers;
  if (stop_after < 0 || stop_after > h.layers || layers.empty() ||
      *std::min_element(layers.begin(), layers.end()) < 0 ||
      *std::max_element(layers.begin(), layers.end()) > last) {
    throw Error("argument", "the layers must be from 0 to " + std::to_string(last));
  }
  const size_t n = tokens.shape(0), width = static_cast<size_t>(h.hidden);
  std::unique_ptr<float[]> out(new float[std::max<size_t>(1, layers.size() * n * width)]);
  Wanted wanted;
  wanted.depths = layers.data();
  wanted.n_depths = static_cast<int>(layers.size());
  wanted.states = out.get();
  wanted.state_stride = n * width;
  wanted.stop_after = stop_after == h.layers ? 0 : stop_after;
  run(tokens, n_past, wanted, nb::none(), nb::none());
  float* p = out.release();
  nb::capsule owner(p, [](void* q) noexcept { delete[] static_cast<float*>(q); });
  return Cube(p, {layers.size(), n, width}, owner);
}

nb::tuple Cache::compute(Tokens tokens, int n_past, int rows, bool hidden, nb::object allowed) {
  const Hyper& h = engine_->model().hyper();
  const size_t n = tokens.shape(0), width = static_cast<size_t>(h.hidden);
  if (rows < 0 || static_cast<size_t>(rows) > n) throw Error("argument", "too many rows");
  Logits logits(static_cast<size_t>(rows), vocab(), engine_->logit_stride());
  Logits states(hidden ? n : 0, width, width);
  Wanted wanted;
  wanted.logit_rows = rows;
  wanted.logits = logits.data.get();
  wanted.hidden = hidden ? states.data.get() : nullptr;
  run(tokens, n_past, wanted, allowed, nb::none());
  nb::object state = hidden ? nb::cast(states.release()) : nb::none();
  return nb::make_tuple(logits.release(), state);
}

void Cache::extend(Tokens tokens, int n_past, bool last, nb::object allowed, nb::object cancel) {
  Wanted wanted;
  if (last) {
    last_.resize(engine_->logit_stride());
    wanted.logit_rows = 1;
    wanted.logits = last_.data();
  }
  run(tokens, n_past, wanted, allowed, cancel);
  has_last_ = last;
}

int32_t Cache::pick(Sampler& sampler, Tokens recent, Tokens forbidden) {
  const float* from = last();
  // A copy, since the penalty and the mask change it.
  work_.assign(from, from + vocab());
  for (size_t i = 0; i < forbidden.shape(0); ++i) {
    const auto token = static_cast<size_t>(forbidden.data()[i]);
    if (token >= work_.size()) throw Error("argument", "a forbidden token is out of range");
    work_[token] = -std::numeric_limits<float>::infinity();
  }
  return sampler.pick(work_.data(), static_cast<int>(work_.size()), recent.data(), recent.shape(0));
}

// One token for each of several caches of one model, in one pass over the weights.
Logits step_together(const std::vector<Cache*>& caches, Tokens tokens, nb::handle cancel) {
  if (caches.empty() || caches.size() != tokens.shape(0)) {
    throw Error("argument", "there must be one token for each cache");
  }
  Engine* engine = caches[0]->engine();
  std::vector<AnyCache> raw;
  for (Cache* c : caches) {
    if (c->engine() != engine) throw Error("argument", "the caches belong to different models");
    raw.push_back(c->any());
  }
  const std::vector<int32_t> input = to_vector(tokens);
  Logits logits(caches.size(), static_cast<size_t>(engine->model().hyper().vocab),
                engine->logit_stride());
  Wanted wanted;
  wanted.logits = logits.data.get();
  run_step(cancel, [&](const StopCheck& stop) {
    engine->decode(raw.data(), input.data(), static_cast<int>(input.size()), wanted, stop);
  });
  for (size_t i = 0; i < caches.size(); ++i) {
    caches[i]->note(input[i], logits.data.get() + i * logits.stride);
  }
  return logits;
}

}  // namespace

Backend::Backend(const Gguf& file, int threads, std::string kv, const QuantizationSetup* setup,
                 const std::string& isa)
    : kv_(std::move(kv)) {
  // More threads than cores only wait for each other.
  engine_ = std::make_shared<Engine>(file, std::min(threads, usable_cpus()), isa);
  if (setup) engine_->quantize_caches(quantization_for(*setup, *engine_));
}

const std::shared_ptr<Engine>& Backend::engine() const {
  if (!engine_) throw Error("closed", "the model was closed");
  return engine_;
}

void bind_cache(nb::module_& m) {
  nb::class_<Cache>(m, "Cache")
      .def_prop_ro("length", &Cache::length)
      .def_prop_ro("capacity", &Cache::capacity)
      .def_prop_ro("kv_bytes", &Cache::kv_bytes)
      .def_prop_ro("page_bytes", &Cache::page_bytes)
      .def_prop_ro("metadata_bytes", &Cache::metadata_bytes)
      .def_prop_ro("bits_mean", &Cache::bits_mean)
      .def_prop_ro("front", &Cache::front)
      .def_prop_ro("ladder", &Cache::ladder)
      .def_prop_ro("class_tokens", &Cache::class_tokens)
      .def_prop_ro("allocations", &Cache::allocations)
      .def_prop_ro("fragmentation", &Cache::fragmentation)
      .def_prop_ro("judged", &Cache::judged)
      .def("classes", &Cache::classes)
      .def("fork", &Cache::fork)
      .def("requantize", &Cache::requantize, "shift"_a)
      .def("slide", &Cache::slide, "n"_a)
      .def("states", &Cache::states, "tokens"_a, "n_past"_a, "layers"_a, nb::kw_only(),
           "stop_after"_a = 0)
      .def("forward", &Cache::forward, "tokens"_a, "n_past"_a, "rows"_a)
      .def("compute", &Cache::compute, "tokens"_a, "n_past"_a, "rows"_a, nb::kw_only(),
           "hidden"_a = false, "allowed"_a = nb::none())
      .def("extend", &Cache::extend, "tokens"_a, "n_past"_a, nb::kw_only(), "last"_a = true,
           "allowed"_a = nb::none(), "cancel"_a = nb::none())
      .def("pick", &Cache::pick, "sampler"_a, "recent"_a, "forbidden"_a)
      .def("last_logits", &Cache::last_logits)
      .def("truncate", &Cache::truncate, "n"_a)
      .def("snapshot", &Cache::snapshot)
      .def("restore", &Cache::restore, "data"_a);

  nb::class_<Backend>(m, "Backend")
      .def_prop_ro("isa", [](const Backend& b) { return std::string(b.engine()->kernels().name); })
      .def_prop_ro("matrix_unit", [](const Backend& b) { return b.engine()->uses_tiles(); })
      .def_prop_ro("threads", [](const Backend& b) { return b.engine()->threads(); })
      .def_prop_ro("prefill_chunk",
                   [](const Backend& b) {
                     return b.kv() == "fp16" ? b.engine()->prefill_rows() : b.engine()->code_rows();
                   })
      .def_prop_ro("fingerprint",
                   [](const Backend& b) { return b.engine()->model().fingerprint(); })
      .def_prop_ro("weight_bytes",
                   [](const Backend& b) { return b.engine()->model().weight_bytes(); })
      .def_prop_ro("kv", &Backend::kv)
      .def(
          "cache",
          [](const Backend& b, int n_ctx, std::optional<std::string> kv) {
            const std::string kind = kv.value_or(b.kv());
            if (kind != "fp16" && kind != b.kv()) {
              throw Error("argument", "the model was loaded for the cache '" + b.kv() + "'");
            }
            return std::make_unique<Cache>(b.engine(), n_ctx, kind != "fp16");
          },
          "n_ctx"_a, nb::kw_only(), "kv"_a.none() = nb::none())
      .def("close", &Backend::close);

  m.def(
      "step",
      [](const std::vector<Cache*>& caches, Tokens tokens) {
        return step_together(caches, tokens, nb::none()).release();
      },
      "caches"_a, "tokens"_a);
  m.def(
      "extend_each",
      [](const std::vector<Cache*>& caches, Tokens tokens, nb::object cancel) {
        step_together(caches, tokens, cancel);
      },
      "caches"_a, "tokens"_a, nb::kw_only(), "cancel"_a = nb::none());
}

}  // namespace kvq::bind
