// The Python face of the engine. Exceptions end here: a file or setting that cannot be used becomes
// ValueError, everything else RuntimeError.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstring>
#include <memory>

#include "engine.h"
#include "error.h"
#include "sampler.h"
#include "snapshot.h"
#include "tokenizer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using kvq::Error;
using Tokens = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<nb::numpy, float, nb::ndim<2>>;

// Looks for Ctrl-C while the lock of the interpreter is released, at most every 20 ms.
class Signals {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(20)) return false;
    last_ = now;
    const nb::gil_scoped_acquire lock;
    raised_ = PyErr_CheckSignals() != 0;
    return raised_;
  }
  bool raised() const { return raised_; }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool raised_ = false;
};

// Runs a step without the interpreter's lock; a KeyboardInterrupt raised meanwhile comes through.
template <class Step>
void run_step(Step step) {
  Signals signals;
  const kvq::StopCheck stop = std::ref(signals);
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

class Cache;

// One loaded model; caches share it and keep it alive.
class Backend {
 public:
  Backend(const std::string& path, int threads, const std::string& isa) {
    const kvq::Gguf file = kvq::Gguf::open(path);
    // More threads than cores only wait for each other.
    engine_ = std::make_shared<kvq::Engine>(file, std::min(threads, kvq::usable_cpus()), isa);
  }
  const std::shared_ptr<kvq::Engine>& engine() const {
    if (!engine_) throw Error("closed", "the model was closed");
    return engine_;
  }
  void close() { engine_.reset(); }

 private:
  std::shared_ptr<kvq::Engine> engine_;
};

class Cache {
 public:
  Cache(std::shared_ptr<kvq::Engine> engine, int n_ctx) : engine_(std::move(engine)) {
    const int most = engine_->model().hyper().context;
    if (n_ctx < 1 || n_ctx > most) {
      throw Error("argument", "the context must be from 1 to " + std::to_string(most) + " tokens");
    }
    cache_ = std::make_unique<kvq::KvCache>(engine_->cache_shape(n_ctx));
  }

  nb::tuple compute(Tokens tokens, int n_past, int rows, bool hidden, nb::object allowed);
  Matrix forward(Tokens tokens, int n_past, int rows) {
    return nb::cast<Matrix>(compute(tokens, n_past, rows, false, nb::none())[0]);
  }
  void truncate(int n) {
    if (n < 0 || n > cache_->length()) throw Error("argument", "the cache holds fewer tokens");
    cache_->truncate(n);
    tokens_.resize(static_cast<size_t>(n));
  }
  nb::bytes snapshot() const {
    std::vector<uint8_t> bytes;
    {
      const nb::gil_scoped_release unlocked;
      bytes = kvq::save_snapshot(*cache_, engine_->model().fingerprint(), tokens_);
    }
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::vector<int32_t> restore(nb::bytes bytes) {
    const std::string_view view(bytes.c_str(), bytes.size());
    const nb::gil_scoped_release unlocked;
    tokens_ = kvq::load_snapshot(*cache_, engine_->model().fingerprint(), view);
    return tokens_;
  }
  int length() const { return cache_->length(); }
  size_t kv_bytes() const {
    const kvq::CacheShape& s = cache_->shape();
    return static_cast<size_t>(s.layers) * 2 * static_cast<size_t>(s.kv_heads * s.head_dim) * 2 *
           static_cast<size_t>(cache_->length());
  }
  size_t page_bytes() const { return cache_->bytes(); }
  kvq::KvCache* get() const { return cache_.get(); }
  kvq::Engine* engine() const { return engine_.get(); }
  void note(int32_t token) { tokens_.push_back(token); }

 private:
  std::shared_ptr<kvq::Engine> engine_;
  std::unique_ptr<kvq::KvCache> cache_;
  std::vector<int32_t> tokens_;
};

std::vector<int32_t> sorted_tokens(nb::object allowed, int vocab) {
  std::vector<int32_t> list = nb::cast<std::vector<int32_t>>(allowed);
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.empty() || list.front() < 0 || list.back() >= vocab) {
    throw Error("argument", "allowed tokens must be of the vocabulary, and at least one");
  }
  return list;
}

nb::tuple Cache::compute(Tokens tokens, int n_past, int rows, bool hidden, nb::object allowed) {
  const kvq::Hyper& h = engine_->model().hyper();
  const int n = static_cast<int>(tokens.shape(0));
  if (n < 1 || rows < 0 || rows > n || n_past < 0 || n_past > cache_->length()) {
    throw Error("argument", "the tokens, the past or the rows are out of range");
  }
  std::vector<int32_t> list;
  if (!allowed.is_none()) list = sorted_tokens(allowed, h.vocab);
  // Copied, since another thread of Python may change the array while it is not locked.
  const std::vector<int32_t> input(tokens.data(), tokens.data() + n);
  truncate(n_past);
  Logits logits(static_cast<size_t>(rows), static_cast<size_t>(h.vocab), engine_->logit_stride());
  Logits states(hidden ? static_cast<size_t>(n) : 0, static_cast<size_t>(h.hidden),
                static_cast<size_t>(h.hidden));
  kvq::Wanted wanted;
  wanted.logit_rows = rows;
  wanted.logits = logits.data.get();
  wanted.hidden = hidden ? states.data.get() : nullptr;
  if (!list.empty()) {
    wanted.allowed = list.data();
    wanted.n_allowed = static_cast<int>(list.size());
  }
  try {
    run_step([&](const kvq::StopCheck& stop) {
      engine_->prefill(*cache_, input.data(), n, wanted, stop);
    });
  } catch (...) {
    cache_->truncate(n_past);
    throw;
  }
  tokens_.insert(tokens_.end(), input.begin(), input.end());
  nb::object state = hidden ? nb::cast(states.release()) : nb::none();
  return nb::make_tuple(logits.release(), state);
}

// One token for each of several caches of one model, in one pass over the weights.
Matrix step(const std::vector<Cache*>& caches, Tokens tokens) {
  if (caches.empty() || caches.size() != tokens.shape(0)) {
    throw Error("argument", "there must be one token for each cache");
  }
  kvq::Engine* engine = caches[0]->engine();
  std::vector<kvq::KvCache*> raw;
  for (Cache* c : caches) {
    if (c->engine() != engine) throw Error("argument", "the caches belong to different models");
    raw.push_back(c->get());
  }
  const std::vector<int32_t> input(tokens.data(), tokens.data() + caches.size());
  Logits logits(caches.size(), static_cast<size_t>(engine->model().hyper().vocab),
                engine->logit_stride());
  kvq::Wanted wanted;
  wanted.logits = logits.data.get();
  run_step([&](const kvq::StopCheck& stop) {
    engine->decode(raw.data(), input.data(), static_cast<int>(input.size()), wanted, stop);
  });
  for (size_t i = 0; i < caches.size(); ++i) caches[i]->note(input[i]);
  return logits.release();
}

int32_t pick(kvq::Sampler& sampler,
             nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> logits,
             Tokens recent) {
  // A copy, since the penalty changes it.
  std::vector<float> work(logits.data(), logits.data() + logits.shape(0));
  return sampler.pick(work.data(), static_cast<int>(work.size()), recent.data(), recent.shape(0));
}

std::unique_ptr<Backend> load(const std::string& path, int threads, const std::string& kv,
                              const std::string& isa) {
  if (threads < 1 || threads > 256) throw Error("argument", "threads must be from 1 to 256");
  if (kv != "fp16") throw Error("argument", "the native engine has no cache '" + kv + "' yet");
  const nb::gil_scoped_release unlocked;
  return std::make_unique<Backend>(path, threads, isa);
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The compiled engine of kvquant. Private: use kvquant.Engine.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      const bool caller = e.code() != "memory" && e.code() != "cancelled" && e.code() != "closed";
      PyErr_SetString(caller ? PyExc_ValueError : PyExc_RuntimeError, e.what());
    }
  });

  nb::class_<Cache>(m, "Cache")
      .def_prop_ro("length", &Cache::length)
      .def_prop_ro("kv_bytes", &Cache::kv_bytes)
      .def_prop_ro("page_bytes", &Cache::page_bytes)
      .def("forward", &Cache::forward, "tokens"_a, "n_past"_a, "rows"_a)
      .def("compute", &Cache::compute, "tokens"_a, "n_past"_a, "rows"_a, nb::kw_only(),
           "hidden"_a = false, "allowed"_a = nb::none())
      .def("truncate", &Cache::truncate, "n"_a)
      .def("snapshot", &Cache::snapshot)
      .def("restore", &Cache::restore, "data"_a);

  nb::class_<Backend>(m, "Backend")
      .def_prop_ro("isa", [](const Backend& b) { return std::string(b.engine()->kernels().name); })
      .def_prop_ro("matrix_unit", [](const Backend& b) { return b.engine()->uses_tiles(); })
      .def_prop_ro("threads", [](const Backend& b) { return b.engine()->threads(); })
      .def_prop_ro("prefill_chunk", [](const Backend& b) { return b.engine()->prefill_rows(); })
      .def_prop_ro("fingerprint",
                   [](const Backend& b) { return b.engine()->model().fingerprint(); })
      .def_prop_ro("weight_bytes",
                   [](const Backend& b) { return b.engine()->model().weight_bytes(); })
      .def(
          "cache",
          [](const Backend& b, int n_ctx) { return std::make_unique<Cache>(b.engine(), n_ctx); },
          "n_ctx"_a)
      .def("close", &Backend::close);

  nb::class_<kvq::Tokenizer>(m, "Tokenizer")
      .def_static(
          "open",
          [](const std::string& path) {
            const nb::gil_scoped_release unlocked;
            return std::make_unique<kvq::Tokenizer>(kvq::Gguf::open(path));
          },
          "path"_a)
      .def_prop_ro("n_vocab", &kvq::Tokenizer::vocab)
      .def(
          "encode",
          [](const kvq::Tokenizer& t, nb::bytes text, bool special) {
            return t.encode(std::string_view(text.c_str(), text.size()), special);
          },
          "text"_a, nb::kw_only(), "special"_a = false)
      .def(
          "token_bytes",
          [](const kvq::Tokenizer& t, int32_t token, bool special) {
            const std::string& bytes = t.token_bytes(token, special);
            return nb::bytes(bytes.data(), bytes.size());
          },
          "token"_a, nb::kw_only(), "special"_a = false)
      .def("special_id", &kvq::Tokenizer::special_id, "spelling"_a);

  nb::class_<kvq::Sampler>(m, "Sampler")
      .def(
          "__init__",
          [](kvq::Sampler* self, float temperature, int top_k, float top_p, float min_p,
             float repetition_penalty, uint64_t seed) {
            new (self) kvq::Sampler({temperature, top_k, top_p, min_p, repetition_penalty, seed});
          },
          nb::kw_only(), "temperature"_a = 0.0f, "top_k"_a = 0, "top_p"_a = 1.0f, "min_p"_a = 0.0f,
          "repetition_penalty"_a = 1.0f, "seed"_a = 0)
      .def("pick", &pick, "logits"_a, "recent"_a);

  m.def("load", &load, "path"_a, nb::kw_only(), "threads"_a = 1, "kv"_a = "fp16", "isa"_a = "");
  m.def("step", &step, "caches"_a, "tokens"_a);
  m.def("available_isas", &kvq::available_isas);
  m.attr("MAX_BATCH") = kvq::kMaxBatch;
}
