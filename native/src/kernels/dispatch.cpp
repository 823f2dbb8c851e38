#include <cstdlib>
#include <cstring>

#include "error.h"
#include "kernels/kernels.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kvq {
namespace {

#if defined(__x86_64__)
// Half-precision conversions; clang 14 has no name for them in __builtin_cpu_supports.
bool has_f16c() {
  unsigned a = 1, b = 0, c = 0, d = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return c & (1u << 29);
}
#endif

// Best last; what the CPU and the operating system both allow.
std::vector<const Kernels*> probe() {
  std::vector<const Kernels*> found = {&kScalarKernels};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) {
    found.push_back(&kAvx2Kernels);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni")) {
      found.push_back(&kAvx512Kernels);
    }
  }
#elif defined(__aarch64__)
  found.push_back(&kNeonKernels);
#if defined(__linux__)
  const unsigned long caps = getauxval(AT_HWCAP);
  if ((caps & HWCAP_ASIMDDP) && (caps & HWCAP_ASIMDHP) && (caps & HWCAP_FPHP)) {
    found.push_back(&kNeonDotKernels);
  }
#elif defined(__APPLE__)
  found.push_back(&kNeonDotKernels);
#endif
#endif
  return found;
}

}  // namespace

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const Kernels* k : probe()) names.emplace_back(k->name);
  return names;
}

Kernels select_kernels(std::string_view isa) {
  if (isa.empty()) {
    if (const char* forced = std::getenv("KVQ_ISA")) isa = forced;
  }
  const std::vector<const Kernels*> found = probe();
  const Kernels* chosen = isa.empty() ? found.back() : nullptr;
  std::string names;
  for (const Kernels* k : found) {
    if (isa == k->name) chosen = k;
    names += (names.empty() ? "" : ", ") + std::string(k->name);
  }
  if (!chosen) {
    throw Error("isa", "instruction set '" + std::string(isa) +
                           "' is not available; this CPU has: " + names);
  }
  Kernels kernels = *chosen;
#if defined(__x86_64__)
  // KVQ_AMX=0 keeps prompts on the vector units, for comparison.
  const char* amx = std::getenv("KVQ_AMX");
  if (chosen == &kAvx512Kernels && !(amx && std::strcmp(amx, "0") == 0) && amx_usable()) {
    kernels.round_bf16 = round_bf16_amx;
    kernels.gemm_bf16 = gemm_bf16_amx;
  }
#endif
  return kernels;
}

}  // namespace kvq
