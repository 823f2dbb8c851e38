// The Python class Quantization: arrays of a controller file, as Python has read and checked it.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <tuple>

#include "bind.h"
#include "error.h"
#include "fp16.h"

namespace kvq::bind {
using namespace nb::literals;

namespace {

// The items of any contiguous buffer, given as such or as bytes; empty for a name that is not
// there.
template <class T>
std::vector<T> items(const nb::dict& arrays, const char* name) {
  std::vector<T> out;
  if (!arrays.contains(name)) return out;
  Py_buffer view;
  if (PyObject_GetBuffer(nb::object(arrays[name]).ptr(), &view, PyBUF_CONTIG_RO) != 0) {
    throw nb::python_error();
  }
  const size_t size = static_cast<size_t>(view.len);
  const bool fits = size % sizeof(T) == 0 && (view.itemsize == 1 || view.itemsize == sizeof(T));
  if (fits) {
    out.resize(size / sizeof(T));
    if (size > 0) std::memcpy(out.data(), view.buf, size);
  }
  PyBuffer_Release(&view);
  if (!fits) throw Error("argument", std::string("the array ") + name + " has the wrong type");
  return out;
}

std::vector<float> halves(const nb::dict& arrays, const char* name) {
  std::vector<float> out;
  for (const uint16_t h : items<uint16_t>(arrays, name)) out.push_back(fp16_to_float(h));
  return out;
}

void set_policy(QuantizationSetup& setup, const nb::dict& arrays, const nb::dict& policy) {
  ControllerSetup& c = setup.controller;
  setup.controlled = true;
  c.thresholds = nb::cast<std::array<float, 3>>(policy["thresholds"]);
  c.budget = nb::cast<std::vector<std::pair<float, float>>>(policy["budget"]);
  c.body_bits = nb::cast<float>(policy["body_bits"]);
  c.weights = nb::cast<std::array<float, kFeatures>>(policy["weights"]);
  c.use_static = nb::cast<bool>(policy["use_static"]);
  c.per_token = nb::cast<bool>(policy["per_token"]);
  c.noise = nb::cast<float>(policy["noise"]);
  c.statics = items<float>(arrays, "static");
  c.f_mean = items<float>(arrays, "f_mean");
  c.f_scale = items<float>(arrays, "f_scale");
  c.embedding = items<float>(arrays, "embedding");
  c.rarity = halves(arrays, "rarity");
  c.entropy = halves(arrays, "entropy");
  c.variance = halves(arrays, "variance");
  if (!arrays.contains("w1")) return;
  for (const char* i : {"1", "2", "3"}) {
    const std::string n(i);
    c.mlp.push_back({items<int8_t>(arrays, ("w" + n).c_str()),
                     items<float>(arrays, ("s" + n).c_str()),
                     items<float>(arrays, ("b" + n).c_str())});
  }
}

}  // namespace

std::shared_ptr<const Quantization> quantization_for(const QuantizationSetup& setup,
                                                     const Engine& engine) {
  const Hyper& h = engine.model().hyper();
  CodeModel model = setup.model;
  model.fingerprint = engine.model().fingerprint();
  model.frequencies = engine.frequencies();
  const size_t places = static_cast<size_t>(model.places());
  const size_t channels = places * static_cast<size_t>(model.shape.head_dim);
  if (model.k_mean.empty()) model.k_mean.assign(channels, 0.0f);
  if (model.v_mean.empty()) model.v_mean.assign(channels, 0.0f);
  if (model.k_exponent.empty()) model.k_exponent.assign(places, -11);
  if (model.v_exponent.empty()) model.v_exponent.assign(places, -11);
  auto q = std::make_shared<Quantization>();
  q->constant_class = setup.constant_class;
  q->measured_entropy = setup.measured_entropy;
  if (setup.controlled) {
    ControllerSetup c = setup.controller;
    c.layers = h.layers;
    c.kv_heads = h.kv_heads;
    c.queries = h.heads / h.kv_heads;
    c.vocab = h.vocab;
    c.window = model.window;
    q->controller = std::make_shared<Controller>(std::move(c), engine.kernels());
  }
  q->model = std::make_shared<CodeModel>(std::move(model));
  return q;
}

void bind_quantization(nb::module_& m) {
  nb::class_<QuantizationSetup>(m, "Quantization")
      .def(
          "__init__",
          [](QuantizationSetup* self, std::tuple<int, int, int> shape, std::array<int, 4> ladder,
             int window, int sinks, const nb::dict& arrays, std::optional<nb::dict> policy,
             int constant_class, bool measured_entropy, bool before_rope) {
            QuantizationSetup setup;
            setup.model.shape = {std::get<0>(shape), std::get<1>(shape), std::get<2>(shape), 0};
            setup.model.ladder = ladder;
            setup.model.window = window;
            setup.model.sinks = sinks;
            setup.model.before_rope = before_rope;
            setup.model.k_mean = items<float>(arrays, "k_mean");
            setup.model.v_mean = items<float>(arrays, "v_mean");
            setup.model.k_exponent = items<int8_t>(arrays, "k_exponent");
            setup.model.v_exponent = items<int8_t>(arrays, "v_exponent");
            setup.constant_class = constant_class;
            setup.measured_entropy = measured_entropy;
            if (constant_class < 0 || constant_class >= kClasses) {
              throw Error("argument", "a class is from 0 to 15");
            }
            if (policy) set_policy(setup, arrays, *policy);
            new (self) QuantizationSetup(std::move(setup));
          },
          nb::kw_only(), "shape"_a, "ladder"_a, "window"_a, "sinks"_a, "arrays"_a,
          "policy"_a.none() = nb::none(), "constant_class"_a = 0, "measured_entropy"_a = false,
          "before_rope"_a = false);
}

}  // namespace kvq::bind
