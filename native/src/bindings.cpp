// The Python face of the engine. Exceptions end here: a file or setting that cannot be used becomes
// ValueError, everything else RuntimeError.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "error.h"

namespace kvq::bind {

std::unique_ptr<Backend> load(const Gguf& file, int threads, const std::string& kv,
                              const QuantizationSetup* setup, const std::string& isa) {
  if (threads < 1 || threads > 256) throw Error("argument", "threads must be from 1 to 256");
  if ((kv == "fp16") != (setup == nullptr)) {
    throw Error("argument", setup ? "the cache 'fp16' is not quantized"
                                  : "the cache '" + kv + "' needs a quantization");
  }
  return std::make_unique<Backend>(file, threads, kv, setup, isa);
}

}  // namespace kvq::bind

NB_MODULE(_native, m) {
  using namespace kvq::bind;
  using namespace nb::literals;
  m.doc() = "The compiled engine of kvquant. Private: use kvquant.Engine.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const kvq::Error& e) {
      const bool caller = e.code() != "memory" && e.code() != "cancelled" && e.code() != "closed";
      PyErr_SetString(caller ? PyExc_ValueError : PyExc_RuntimeError, e.what());
    }
  });
  bind_quantization(m);
  bind_cache(m);
  bind_text(m);
  m.def(
      "load",
      [](const std::string& path, int threads, const std::string& kv,
         const QuantizationSetup* setup,
         const std::string& isa) { return load(kvq::Gguf::open(path), threads, kv, setup, isa); },
      "path"_a, nb::kw_only(), "threads"_a = 1, "kv"_a = "fp16",
      "quantization"_a.none() = nb::none(), "isa"_a = "", nb::call_guard<nb::gil_scoped_release>());
  m.def("available_isas", &kvq::available_isas);
  m.attr("MAX_BATCH") = kvq::kMaxBatch;
}
