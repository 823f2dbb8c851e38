// Files, texts and choices: the Python classes File, Tokenizer and Sampler.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <type_traits>
#include <vector>

#include "bind.h"
#include "crc32.h"
#include "dequant.h"
#include "error.h"
#include "sampler.h"
#include "tokenizer.h"

namespace kvq::bind {
using namespace nb::literals;

namespace {

int32_t pick(Sampler& sampler,
             nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> logits,
             Tokens recent) {
  // A copy, since the penalty changes it.
  std::vector<float> work(logits.data(), logits.data() + logits.shape(0));
  return sampler.pick(work.data(), static_cast<int>(work.size()), recent.data(), recent.shape(0));
}

// The single values of a file's metadata; its arrays (vocabulary, merges) stay on this side.
nb::dict metadata(const Gguf& file) {
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

nb::dict shape(const Gguf& file) {
  const Hyper h = read_hyper(file);
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

// Tells models apart whatever their weights' precision: CRC-32 of the last norm as floats.
uint32_t norm_fingerprint(const Gguf& file) {
  const TensorInfo* t = file.find_tensor("output_norm.weight");
  if (!t || t->rows != 1 || t->cols != static_cast<uint64_t>(read_hyper(file).hidden)) {
    throw Error("model", "the tensor output_norm.weight is missing or has another shape");
  }
  std::vector<uint8_t> bytes(t->row_bytes);
  file.read_rows(*t, 0, 1, bytes.data());
  std::vector<float> values(t->cols);
  dequantize(t->type, bytes.data(), values.size(), values.data());
  return crc32(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
}

}  // namespace

void bind_text(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer")
      .def_static(
          "open",
          [](const std::string& path) {
            const nb::gil_scoped_release unlocked;
            return std::make_unique<Tokenizer>(Gguf::open(path));
          },
          "path"_a)
      .def_prop_ro("n_vocab", &Tokenizer::vocab)
      .def(
          "encode",
          [](const Tokenizer& t, nb::bytes text, bool special) {
            return t.encode(std::string_view(text.c_str(), text.size()), special);
          },
          "text"_a, nb::kw_only(), "special"_a = false)
      .def(
          "token_bytes",
          [](const Tokenizer& t, int32_t token, bool special) {
            const std::string& bytes = t.token_bytes(token, special);
            return nb::bytes(bytes.data(), bytes.size());
          },
          "token"_a, nb::kw_only(), "special"_a = false)
      .def("special_id", &Tokenizer::special_id, "spelling"_a)
      .def_prop_ro("control_ids", &Tokenizer::control_ids);

  nb::class_<Gguf>(m, "File")
      .def_static(
          "open",
          [](const std::string& path) {
            const nb::gil_scoped_release unlocked;
            return std::make_unique<Gguf>(open_file(path));
          },
          "path"_a)
      .def_prop_ro("metadata", &metadata)
      .def_prop_ro("shape", &shape)
      .def_prop_ro("norm_fingerprint", &norm_fingerprint)
      .def("tokenizer",
           [](const Gguf& file) {
             const nb::gil_scoped_release unlocked;
             return std::make_unique<Tokenizer>(file);
           })
      .def("load", &load, nb::kw_only(), "threads"_a = 1, "kv"_a = "fp16",
           "quantization"_a.none() = nb::none(), "isa"_a = "",
           nb::call_guard<nb::gil_scoped_release>());

  nb::class_<Sampler>(m, "Sampler")
      .def(
          "__init__",
          [](Sampler* self, float temperature, int top_k, float top_p, float min_p,
             float repetition_penalty, uint64_t seed) {
            new (self) Sampler({temperature, top_k, top_p, min_p, repetition_penalty, seed});
          },
          nb::kw_only(), "temperature"_a = 0.0f, "top_k"_a = 0, "top_p"_a = 1.0f, "min_p"_a = 0.0f,
          "repetition_penalty"_a = 1.0f, "seed"_a = 0)
      .def("pick", &pick, "logits"_a, "recent"_a);
}

}  // namespace kvq::bind
