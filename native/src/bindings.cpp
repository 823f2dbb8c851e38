// The Python face of the engine. Exceptions end here: a file or setting that cannot be used becomes
// ValueError, everything else RuntimeError.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

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

std::vector<int32_t> to_vector(Tokens tokens) {
  return {tokens.data(), tokens.data() + tokens.shape(0)};
}

// One loaded model; caches share it and keep it alive.
class Backend {
 public:
  Backend(const kvq::Gguf& file, int threads, const std::string& isa) {
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
  void extend(Tokens tokens, int n_past, bool last, nb::object allowed, nb::object cancel);
  int32_t pick(kvq::Sampler& sampler, Tokens recent, Tokens forbidden);
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
    if (n < 0 || n > cache_->length()) throw Error("argument", "the cache holds fewer tokens");
    if (n < cache_->length()) has_last_ = false;
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
    has_last_ = false;
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
  // After a step of several caches: the token and the logits after it.
  void note(int32_t token, const float* logits) {
    tokens_.push_back(token);
    last_.assign(logits, logits + vocab());
    has_last_ = true;
  }

 private:
  size_t vocab() const { return static_cast<size_t>(engine_->model().hyper().vocab); }
  const float* last() const {
    if (!has_last_) throw Error("argument", "the logits after the last token were not computed");
    return last_.data();
  }
  void run(Tokens tokens, int n_past, kvq::Wanted wanted, nb::handle allowed, nb::handle cancel);

  std::shared_ptr<kvq::Engine> engine_;
  std::unique_ptr<kvq::KvCache> cache_;
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

// Cuts the cache to n_past and appends the tokens; after a failure it is cut to n_past.
void Cache::run(Tokens tokens, int n_past, kvq::Wanted wanted, nb::handle allowed,
                nb::handle cancel) {
  const int n = static_cast<int>(tokens.shape(0));
  if (n < 1 || wanted.logit_rows < 0 || wanted.logit_rows > n || n_past < 0 ||
      n_past > cache_->length()) {
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
  try {
    run_step(cancel, [&](const kvq::StopCheck& stop) {
      engine_->prefill(*cache_, input.data(), n, wanted, stop);
    });
  } catch (...) {
    cache_->truncate(n_past);
    throw;
  }
  tokens_.insert(tokens_.end(), input.begin(), input.end());
}

nb::tuple Cache::compute(Tokens tokens, int n_past, int rows, bool hidden, nb::object allowed) {
  const kvq::Hyper& h = engine_->model().hyper();
  const size_t n = tokens.shape(0), width = static_cast<size_t>(h.hidden);
  if (rows < 0 || static_cast<size_t>(rows) > n) throw Error("argument", "too many rows");
  Logits logits(static_cast<size_t>(rows), vocab(), engine_->logit_stride());
  Logits states(hidden ? n : 0, width, width);
  kvq::Wanted wanted;
  wanted.logit_rows = rows;
  wanted.logits = logits.data.get();
  wanted.hidden = hidden ? states.data.get() : nullptr;
  run(tokens, n_past, wanted, allowed, nb::none());
  nb::object state = hidden ? nb::cast(states.release()) : nb::none();
  return nb::make_tuple(logits.release(), state);
}

void Cache::extend(Tokens tokens, int n_past, bool last, nb::object allowed, nb::object cancel) {
  kvq::Wanted wanted;
  if (last) {
    last_.resize(engine_->logit_stride());
    wanted.logit_rows = 1;
    wanted.logits = last_.data();
  }
  run(tokens, n_past, wanted, allowed, cancel);
  has_last_ = last;
}

int32_t Cache::pick(kvq::Sampler& sampler, Tokens recent, Tokens forbidden) {
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
  kvq::Engine* engine = caches[0]->engine();
  std::vector<kvq::KvCache*> raw;
  for (Cache* c : caches) {
    if (c->engine() != engine) throw Error("argument", "the caches belong to different models");
    raw.push_back(c->get());
  }
  const std::vector<int32_t> input = to_vector(tokens);
  Logits logits(caches.size(), static_cast<size_t>(engine->model().hyper().vocab),
                engine->logit_stride());
  kvq::Wanted wanted;
  wanted.logits = logits.data.get();
  run_step(cancel, [&](const kvq::StopCheck& stop) {
    engine->decode(raw.data(), input.data(), static_cast<int>(input.size()), wanted, stop);
  });
  for (size_t i = 0; i < caches.size(); ++i) {
    caches[i]->note(input[i], logits.data.get() + i * logits.stride);
  }
  return logits;
}

int32_t pick(kvq::Sampler& sampler,
             nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> logits,
             Tokens recent) {
  // A copy, since the penalty changes it.
  std::vector<float> work(logits.data(), logits.data() + logits.shape(0));
  return sampler.pick(work.data(), static_cast<int>(work.size()), recent.data(), recent.shape(0));
}

std::unique_ptr<Backend> load(const kvq::Gguf& file, int threads, const std::string& kv,
                              const std::string& isa) {
  if (threads < 1 || threads > 256) throw Error("argument", "threads must be from 1 to 256");
  if (kv != "fp16") throw Error("argument", "the native engine has no cache '" + kv + "' yet");
  return std::make_unique<Backend>(file, threads, isa);
}

// The single values of a file's metadata; its arrays (vocabulary, merges) stay on this side.
nb::dict metadata(const kvq::Gguf& file) {
  nb::dict out;
  for (const auto& [key, value] : file.metadata()) {
    nb::object converted;
    std::visit(
        [&converted](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::string>) {
            converted = nb::steal(
                PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), "replace"));
          } else if constexpr (std::is_arithmetic_v<T>) {
            converted = nb::cast(v);
          }
        },
        value);
    if (converted.is_valid()) out[key.c_str()] = converted;
  }
  return out;
}

nb::dict shape(const kvq::Gguf& file) {
  const kvq::Hyper h = kvq::read_hyper(file);
  nb::dict out;
  out["n_layer"] = h.layers;
  out["n_embd"] = h.hidden;
  out["n_head"] = h.heads;
  out["n_kv_head"] = h.kv_heads;
  out["head_dim"] = h.head_dim;
  out["n_ff"] = h.ffn;
  out["n_vocab"] = h.vocab;
  out["n_ctx_train"] = h.context;
  return out;
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
      .def("special_id", &kvq::Tokenizer::special_id, "spelling"_a)
      .def_prop_ro("control_ids", &kvq::Tokenizer::control_ids);

  nb::class_<kvq::Gguf>(m, "File")
      .def_static(
          "open",
          [](const std::string& path) {
            const nb::gil_scoped_release unlocked;
            return std::make_unique<kvq::Gguf>(kvq::open_file(path));
          },
          "path"_a)
      .def_prop_ro("metadata", &metadata)
      .def_prop_ro("shape", &shape)
      .def("tokenizer",
           [](const kvq::Gguf& file) {
             const nb::gil_scoped_release unlocked;
             return std::make_unique<kvq::Tokenizer>(file);
           })
      .def("load", &load, nb::kw_only(), "threads"_a = 1, "kv"_a = "fp16", "isa"_a = "",
           nb::call_guard<nb::gil_scoped_release>());

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

  m.def(
      "load",
      [](const std::string& path, int threads, const std::string& kv, const std::string& isa) {
        return load(kvq::Gguf::open(path), threads, kv, isa);
      },
      "path"_a, nb::kw_only(), "threads"_a = 1, "kv"_a = "fp16", "isa"_a = "",
      nb::call_guard<nb::gil_scoped_release>());
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
  m.def("available_isas", &kvq::available_isas);
  m.attr("MAX_BATCH") = kvq::kMaxBatch;
}
