// Runs all tests, or those whose name contains the argument.
#include <cstdint>
#include <cstring>
#include <exception>

#include "check.h"

int main(int argc, char** argv) {
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
