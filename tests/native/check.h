// A few lines of test framework: TEST registers a function, CHECK counts and prints failures.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace kvq::test {

struct Case {
  const char* name;
  void (*body)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> list;
  return list;
}
inline int& failures() {
  static int count = 0;
  return count;
}
// What a failed check knows besides its condition, formatted as by printf.
inline std::string detail() { return ""; }
template <class... Values>
std::string detail(const char* format, Values... values) {
  char text[256];
  if constexpr (sizeof...(values) == 0) {
    return format;
  } else {
    std::snprintf(text, sizeof text, format, values...);
    return text;
  }
}
struct Register {
  Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

// SplitMix64, so that tests are the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  float uniform() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f; }  // [-1, 1)
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }

 private:
  uint64_t state_;
};

}  // namespace kvq::test

#define TEST(name)                                               \
  static void name();                                            \
  static const kvq::test::Register register_##name(#name, name); \
  static void name()

#define CHECK(condition, ...)                                      \
  do {                                                             \
    if (!(condition)) {                                            \
      ++kvq::test::failures();                                     \
      std::printf("%s:%d: %s  ", __FILE__, __LINE__, #condition);  \
      std::printf("%s\n", kvq::test::detail(__VA_ARGS__).c_str()); \
    }                                                              \
  } while (0)

// The code of the kvq::Error that body throws; "" when it throws none.
#define ERROR_CODE(body)            \
  [&]() -> std::string {            \
    try {                           \
      body;                         \
    } catch (const kvq::Error& e) { \
      return e.code();              \
    }                               \
    return "";                      \
  }()
