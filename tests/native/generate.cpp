// Greedy tokens of a model, for runs under emulation where Python does not reach:
//
//   kvq_generate MODEL.gguf THREADS NEW_TOKENS PROMPT_TOKEN...
//
// prints the new token ids on one line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine.h"
#include "error.h"

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: kvq_generate MODEL.gguf THREADS NEW_TOKENS PROMPT_TOKEN...\n");
    return 2;
  }
  try {
    const kvq::Gguf file = kvq::Gguf::open(argv[1]);
    kvq::Engine engine(file, std::max(1, std::atoi(argv[2])), "");
    std::vector<int32_t> tokens;
    for (int i = 4; i < argc; ++i) tokens.push_back(std::atoi(argv[i]));
    const int n_new = std::atoi(argv[3]);
    kvq::KvCache cache(engine.cache_shape(static_cast<int>(tokens.size()) + n_new));
    std::vector<float> logits(engine.logit_stride());
    kvq::Wanted wanted;
    wanted.logit_rows = 1;
    wanted.logits = logits.data();
    std::fprintf(stderr, "isa %s\n", engine.kernels().name);
    for (int i = 0; i < n_new; ++i) {
      engine.prefill(cache, tokens.data(), static_cast<int>(tokens.size()), wanted, {});
      const auto end = logits.begin() + engine.model().hyper().vocab;
      tokens.assign(1,
                    static_cast<int32_t>(std::max_element(logits.begin(), end) - logits.begin()));
      std::printf(i == 0 ? "%d" : " %d", tokens[0]);
    }
    std::printf("\n");
  } catch (const kvq::Error& e) {
    std::fprintf(stderr, "kvq_generate: %s\n", e.what());
    return 3;
  }
  return 0;
}
