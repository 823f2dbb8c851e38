// Runs all tests, or those whose name contains the argument. `--seeds DIR` writes small model files
// as seeds for the fuzz target instead.
#include <cstdint>
#include <cstring>
#include <exception>

#include "check.h"
#include "tiny_model.h"

static int write_seeds(const std::string& folder) {
  for (const uint32_t type : {0u, 1u, 3u, 8u}) {
    const std::vector<uint8_t> bytes =
        kvq::test::tiny_model({.layers = 1, .hidden = 32, .heads = 2, .ffn = 32, .vocab = 16}, type)
            .bytes();
    std::FILE* f = std::fopen((folder + "/tiny-" + std::to_string(type) + ".gguf").c_str(), "wb");
    if (!f || std::fwrite(bytes.data(), 1, bytes.size(), f) != bytes.size() ||
        std::fclose(f) != 0) {
      std::perror(folder.c_str());
      return 1;
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
  int run = 0;
  for (const kvq::test::Case& c : kvq::test::cases()) {
    if (argc > 1 && !std::strstr(c.name, argv[1])) continue;
    const int before = kvq::test::failures();
    try {
      c.body();
    } catch (const std::exception& e) {
      ++kvq::test::failures();
      std::printf("%s threw: %s\n", c.name, e.what());
    }
    ++run;
    std::printf("%s %s\n", kvq::test::failures() == before ? "ok  " : "FAIL", c.name);
    std::fflush(stdout);
  }
  std::printf("%d tests, %d failures\n", run, kvq::test::failures());
  return kvq::test::failures() == 0 && run > 0 ? 0 : 1;
}
