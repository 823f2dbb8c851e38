// The reader refuses everything that is not a whole, consistent file, with an Error and nothing
// else.
#include "check.h"
#include "error.h"
#include "gguf.h"
#include "model.h"
#include "tiny_model.h"

using namespace kvq;
using kvq::test::GgufWriter;

namespace {

std::string load_code(const std::vector<uint8_t>& bytes) {
  return ERROR_CODE({
    ThreadPool pool(1);
    const Gguf file(open_memory(bytes.data(), bytes.size()));
    const Model model(file, pool);
  });
}

GgufWriter with_tensor(uint32_t type, std::vector<uint64_t> dims, size_t size) {
  GgufWriter w;
  w.meta_string("general.architecture", "llama");
  w.tensor("t", type, dims, std::vector<uint8_t>(size));
  return w;
}

std::string parse_code(const std::vector<uint8_t>& bytes) {
  return ERROR_CODE(Gguf(open_memory(bytes.data(), bytes.size())));
}

}  // namespace

TEST(a_whole_model_loads) {
  for (const uint32_t type : {0u, 1u, 3u, 8u})
    CHECK(load_code(test::tiny_model({}, type).bytes()) == "");
}

TEST(a_file_cut_anywhere_is_refused) {
  const std::vector<uint8_t> good = test::tiny_model({.layers = 1}, 3).bytes();
  for (size_t n = 0; n + 32 < good.size(); n += n < 3000 ? 1 : 211) {
    const std::vector<uint8_t> cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(n));
    CHECK(load_code(cut) != "", "cut at %zu", n);
  }
}

TEST(damaged_headers_never_do_more_than_fail) {
  const std::vector<uint8_t> good = test::tiny_model({.layers = 1}, 8).bytes();
  test::Random random(9);
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> bad = good;
    for (int k = 0; k <= random.below(4); ++k) {
      const size_t at = static_cast<size_t>(random.below(2600));
      bad[at] = random.below(3) == 0 ? 0xFF : static_cast<uint8_t>(random.next());
    }
    (void)load_code(bad);
  }
}

TEST(impossible_dimensions_are_refused) {
  const uint64_t huge[] = {0, uint64_t{1} << 31, (uint64_t{1} << 42) + 1, ~uint64_t{0}};
  for (const uint64_t d : huge) {
    CHECK(parse_code(with_tensor(0, {d}, 64).bytes()) == "file");
    CHECK(parse_code(with_tensor(0, {16, d}, 64).bytes()) == "file");
  }
  CHECK(parse_code(with_tensor(0, {1u << 31, 1u << 31, 1u << 31, 4}, 64).bytes()) == "file");
  CHECK(parse_code(with_tensor(0, {1, 1, 1, 1, 1}, 64).bytes()) == "file");
  CHECK(parse_code(with_tensor(8, {33}, 64).bytes()) == "file");
  CHECK(parse_code(with_tensor(77, {32}, 64).bytes()) == "file");
  CHECK(parse_code(with_tensor(0, {16}, 64).bytes()) == "");
}

TEST(overlapping_and_repeated_tensors_are_refused) {
  GgufWriter w;
  w.tensor("a", 0, {16}, std::vector<uint8_t>(64));
  w.tensor("a", 0, {16}, std::vector<uint8_t>(64));
  CHECK(parse_code(w.bytes()) == "file");
  GgufWriter o;
  o.tensor("a", 0, {32}, std::vector<uint8_t>(64));  // says 128 bytes, the next begins after 64
  o.tensor("b", 0, {32}, std::vector<uint8_t>(128));
  CHECK(parse_code(o.bytes()) == "file");
}

TEST(foreign_files_are_named) {
  std::vector<uint8_t> bytes = test::tiny_model({}, 0).bytes();
  bytes[0] = 'X';
  CHECK(parse_code(bytes) == "file");
  bytes[0] = 'G';
  for (const uint8_t version : {0, 1, 4, 9}) {
    bytes[4] = version;
    CHECK(parse_code(bytes) == "file");
  }
  bytes[4] = 0;
  bytes[7] = 3;
  CHECK(parse_code(bytes) == "file");
}

TEST(inconsistent_hyperparameters_are_refused) {
  const auto code = [](const char* key, uint32_t value) {
    GgufWriter w = test::tiny_model({}, 0);
    std::vector<uint8_t> bytes = w.bytes();
    const std::string name = key;
    for (size_t i = 0; i + name.size() + 8 < bytes.size(); ++i) {
      if (std::memcmp(bytes.data() + i, name.data(), name.size()) == 0 &&
          bytes[i + name.size()] == 4 && bytes[i + name.size() + 1] == 0) {
        std::memcpy(bytes.data() + i + name.size() + 4, &value, 4);
        return load_code(bytes);
      }
    }
    return std::string("key not found");
  };
  for (const char* key :
       {"llama.block_count", "llama.embedding_length", "llama.attention.head_count",
        "llama.feed_forward_length", "llama.context_length"}) {
    for (const uint32_t value : {0u, 1u << 31, ~0u, 3u}) {
      if (value == 3 && std::string(key) == "llama.context_length") continue;
      CHECK(code(key, value) == "model", "%s %u", key, value);
    }
  }
  CHECK(code("llama.attention.head_count_kv", 0) == "model");
  CHECK(code("llama.attention.head_count_kv", 3) == "model");
}

TEST(unknown_tensors_and_architectures_are_refused) {
  GgufWriter w = test::tiny_model({}, 0);
  w.tensor("blk.0.attn_q.bias", 0, {64}, std::vector<uint8_t>(256));
  CHECK(load_code(w.bytes()) == "model");
  GgufWriter other;
  other.meta_string("general.architecture", "qwen2");
  CHECK(load_code(other.bytes()) == "model");
}
