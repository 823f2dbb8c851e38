// What the parts of the Python module share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <string>

#include "engine.h"
#include "gguf.h"

namespace kvq::bind {

namespace nb = nanobind;
using Tokens = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// How the caches of an engine are to be quantized, before there is an engine.
struct QuantizationSetup {
  CodeModel model;  // without what the engine knows
  ControllerSetup controller;
  bool controlled = false;
  int constant_class = 0;
  bool measured_entropy = false;
};

std::shared_ptr<const Quantization> quantization_for(const QuantizationSetup& setup,
                                                     const Engine& engine);

// One loaded model; caches share it and keep it alive.
class Backend {
 public:
  // kv: "fp16", or another name with a setup. Throws Error.
  Backend(const Gguf& file, int threads, std::string kv, const QuantizationSetup* setup,
          const std::string& isa);
  const std::shared_ptr<Engine>& engine() const;
  const std::string& kv() const { return kv_; }
  void close() { engine_.reset(); }

 private:
  std::shared_ptr<Engine> engine_;
  std::string kv_;
};

std::unique_ptr<Backend> load(const Gguf& file, int threads, const std::string& kv,
                              const QuantizationSetup* setup, const std::string& isa);

// Each adds its classes and functions to the module.
void bind_quantization(nb::module_& m);
void bind_cache(nb::module_& m);
void bind_text(nb::module_& m);

}  // namespace kvq::bind
