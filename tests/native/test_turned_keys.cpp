// Keys that are stored before RoPE: turning them, caches of them, and the
// engine over such caches.
#include <cmath>
#include <cstring>
#include <limits>

#include "code_cache_fixture.h"
#include "coded_engine.h"
#include "error.h"

using namespace kvq;
using namespace kvq::test;

namespace {

using Floats = std::vector<float>;

std::vector<float> frequencies_of(int dim) {
  Floats f;
  for (int i = 0; i < dim / 2; ++i) {
    f.push_back(static_cast<float>(std::pow(10000.0, -2.0 * i / dim)));
  }
  return f;
}

// One block of any codes and scales, with means and positions.
struct Keys {
  int dim, bits, exponent;
  std::vector<uint8_t> codes, scales;
  Floats mean;
  TurnTable table;
  int positions[kBlockTokens] = {};

  Keys(int head_dim, int width, int scale_exponent, uint64_t seed)
      : dim(head_dim),
        bits(width),
        exponent(scale_exponent),
        codes(code_bytes(head_dim, width)),
        scales(scale_bytes(width)),
        table(frequencies_of(head_dim), 5000) {
    Random random(seed);
    for (uint8_t& c : codes) c = static_cast<uint8_t>(random.below(256));
    for (uint8_t& s : scales) s = static_cast<uint8_t>(random.below(256));
    for (int d = 0; d < dim; ++d) mean.push_back(random.uniform());
    for (int& p : positions) p = random.below(5000);
    if (bits != 16) return;
    for (size_t i = 0; i < codes.size(); i += 2) {
      const uint16_t half = float_to_fp16(4.0f * random.uniform());
      std::memcpy(codes.data() + i, &half, 2);
    }
  }
  Floats turned(const Kernels& k) const {
    const float* turns[kBlockTokens];
    for (int t = 0; t < kBlockTokens; ++t) turns[t] = table.of(positions[t]);
    std::vector<uint16_t> out(static_cast<size_t>(dim * kBlockTokens));
    k.turn_keys(codes.data(), scales.data(), dim, bits, exponent, mean.data(), turns, out.data());
    Floats x;
    for (const uint16_t h : out) x.push_back(fp16_to_float(h));
    return x;
  }
  // The same from its definition, in double precision.
  Floats expected(const Kernels& k) const {
    Floats out(static_cast<size_t>(dim * kBlockTokens)), x(static_cast<size_t>(dim));
    const std::vector<float> frequencies = frequencies_of(dim);
    for (int t = 0; t < kBlockTokens; ++t) {
      k.dequantize_key(codes.data(), scales.data(), dim, bits, exponent, t, x.data());
      k.hadamard(x.data(), dim);
      for (int i = 0; i < dim / 2; ++i) {
        const size_t j = static_cast<size_t>(i), far = static_cast<size_t>(dim / 2 + i);
        const double a = static_cast<double>(x[j]) + static_cast<double>(mean[j]);
        const double b = static_cast<double>(x[far]) + static_cast<double>(mean[far]);
        const double angle = positions[t] * static_cast<double>(frequencies[j]);
        const double c = std::cos(angle), s = std::sin(angle);
        const auto put = [&](size_t d, double v) {
          out[d * kBlockTokens + static_cast<size_t>(t)] =
              static_cast<float>(std::clamp(v, -65504.0, 65504.0));
        };
        put(j, a * c - b * s);
        put(far, a * s + b * c);
      }
    }
    return out;
  }
};

// In parts of the largest number: rounding to halves is 0.0005, angles in
// single precision are 0.0003 at position 5,000.
float worst_part(const Floats& a, const Floats& b) {
  float top = 0.0f;
  for (const float x : b) top = std::max(top, std::fabs(x));
  return worst(a, b) / std::max(top, 1e-20f);
}

constexpr std::array kDims{32, 64, 96, 128, 160, 256};
constexpr std::array kWidths{2, 3, 4, 8, 16};

}  // namespace

TEST(turned_keys_are_what_they_are_defined_to_be_in_every_set) {
  for (const std::string& isa : available_isas()) {
    const Kernels k = select_kernels(isa);
    for (const int dim : kDims) {
      for (const int bits : kWidths) {
        const Keys keys(dim, bits, -11, static_cast<uint64_t>(dim + bits));
        const float off = worst_part(keys.turned(k), keys.expected(k));
        CHECK(off < 1e-3f, "%s, %d numbers of %d bits: %g", isa.c_str(), dim, bits,
              static_cast<double>(off));
      }
    }
  }
}

TEST(turned_keys_saturate_and_stay_finite) {
  for (const std::string& isa : available_isas()) {
    const Kernels k = select_kernels(isa);
    for (const int bits : {2, 4, 8}) {
      // Scales up to 2^15, sums far beyond halves; and nothing at all.
      Keys huge(64, bits, -1, 9), none(64, bits, -126, 9);
      // Angles would be off by more than halves are, in parts of what they saturate to.
      std::fill(huge.positions, huge.positions + kBlockTokens, 0);
      const Floats x = huge.turned(k), expected = huge.expected(k);
      float top = 0.0f;
      for (const float v : x) top = std::max(top, std::fabs(v));
      CHECK(top == 65504.0f, "%s %d", isa.c_str(), bits);
      CHECK(worst_part(x, expected) < 1e-3f, "%s %d", isa.c_str(), bits);
      std::fill(none.codes.begin(), none.codes.end(), uint8_t{0});
      std::fill(none.scales.begin(), none.scales.end(), uint8_t{0});
      std::fill(none.mean.begin(), none.mean.end(), 0.0f);
      for (const float v : none.turned(k)) CHECK(std::fabs(v) < 1e-3f);
    }
    // A lane that was never written may hold anything; the others do not
    // notice.
    Keys odd(64, 16, 0, 4);
    const Floats before = odd.turned(k);
    auto* halves = reinterpret_cast<uint16_t*>(odd.codes.data());
    for (int d = 0; d < 64; ++d) halves[kBlockTokens * d + 5] = d % 2 ? 0x7E00 : 0xFC00;
    const Floats after = odd.turned(k);
    for (size_t i = 0; i < after.size(); ++i) {
      CHECK(i % kBlockTokens == 5 || after[i] == before[i], "%s", isa.c_str());
    }
  }
}

TEST(turned_lists_hand_out_every_token_once_in_short_and_long_runs) {
  const CacheSetup setup{.layers = 1, .capacity = 900, .before_rope = true};
  CodeCache cache = make(setup);
  const CodeModel& m = cache.model();
  const Stream stream{m, kernels()};
  const TurnTable table(m.frequencies, 900);
  std::vector<uint16_t> room(static_cast<size_t>(kTurnBlocks * kBlockTokens * 64));
  for (const int n : {0, 36, 37, 53, 700, 900}) {
    feed(cache, stream, n - cache.length(), 64);
    for (int head = 0; head < 3; ++head) {
      const int blocks = cache.blocks(0, head);
      std::vector<CodeBlock> out(static_cast<size_t>(blocks) + 1);
      std::vector<int32_t> positions(static_cast<size_t>(blocks * kBlockTokens));
      CodeList lists[kClasses];
      const int n_lists = cache.blocks(0, head, 0, blocks, out.data(), lists);
      cache.positions(0, head, positions.data());
      const KeyTurner turner{kernels(), m, table, static_cast<size_t>(head)};
      TurnedLists turned(turner, lists, n_lists, positions.data(), room.data());
      std::vector<int> seen(static_cast<size_t>(std::max(n, 1)), 0);
      int tokens = 0;
      size_t at = 0;
      while (const int found = turned.next()) {
        for (int l = 0; l < found; ++l) {
          const CodeList& list = turned.lists()[l];
          CHECK(list.k_bits == 16 && list.n_tokens > 0);
          for (int t = 0; t < list.n_tokens; ++t) {
            ++seen[static_cast<size_t>(positions[at + static_cast<size_t>(t)])];
          }
          tokens += list.n_tokens;
          at += static_cast<size_t>((list.n_tokens + kBlockTokens - 1) / kBlockTokens * 16);
        }
      }
      CHECK(turned.next() == 0);
      CHECK(tokens == cache.front() - 4);
      for (int p = 4; p < cache.front(); ++p) CHECK(seen[static_cast<size_t>(p)] == 1, "%d", p);
    }
  }
}

TEST(code_cache_knows_positions_around_gaps) {
  const CacheSetup setup{.layers = 1, .kv_heads = 1, .capacity = 300, .before_rope = true};
  CodeCache cache = make(setup);
  const Stream stream{cache.model(), kernels()};
  feed(cache, stream, 250, 64);
  cache.evict(20, 40);
  cache.evict(100, 101);
  cache.evict(200, 218);
  std::vector<int32_t> positions(static_cast<size_t>(cache.blocks(0, 0) * kBlockTokens));
  cache.positions(0, 0, positions.data());
  size_t at = 0;
  alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim], k2[kMaxHeadDim], v2[kMaxHeadDim];
  int found = 0;
  for (int cls = 0; cls < kClasses; ++cls) {
    const int n = cache.tokens(0, 0, cls);
    for (int t = 0; t < n; ++t) {
      const int p = positions[at + static_cast<size_t>(t)];
      CHECK(cache.class_of(0, 0, p) == cls && cache.read(0, 0, p, k, v), "%d", p);
      CHECK(t == 0 || p > positions[at + static_cast<size_t>(t) - 1]);
      ++found;
    }
    at += static_cast<size_t>((n + 15) / 16 * 16);
  }
  CHECK(found == 250 - 32 - 4 - 39);
  int32_t slots[64];
  cache.window_positions(250, slots);
  for (const int p : {0, 3, 218, 230, 249}) CHECK(slots[cache.model().slot(p)] == p, "%d", p);
  cache.load(0, 0, 249, k, v);
  stream.stored(249, 249, 0, k2, v2);
  CHECK(std::equal(k, k + 64, k2));
}

TEST(keys_from_before_rope_move_without_being_touched) {
  for (const int dim : {32, 64, 96}) {
    const CacheSetup setup{.head_dim = dim, .capacity = 200, .before_rope = true};
    CodeCache cache = make(setup);
    const Stream stream{cache.model(), kernels()};
    int ahead = 0;
    for (const int n : {50, 1, 77, 16}) {
      feed(cache, stream, 200 - cache.length(), 33, ahead);
      cache.slide(n);
      ahead += n;
      // Codes as if each token had been stored where it is now, however often
      // it moved.
      CHECK(wrong_tokens(cache, stream, 4, ahead) == 0, "%d numbers, after %d", dim, n);
    }
    alignas(64) float k[kMaxHeadDim], v[kMaxHeadDim], k2[kMaxHeadDim], v2[kMaxHeadDim];
    for (int p = cache.front(); p < cache.length(); ++p) {
      cache.load(1, 2, p, k, v);
      stream.stored(p + ahead, p, 5, k2, v2);
      CHECK(std::equal(k, k + dim, k2) && std::equal(v, v + dim, v2), "%d", p);
    }
  }
}

TEST(a_snapshot_says_how_its_keys_are_stored) {
  std::vector<uint8_t> bytes[2];
  for (const bool before : {false, true}) {
    CodeCache cache = make({.capacity = 100, .before_rope = before});
    const Stream stream{cache.model(), kernels()};
    feed(cache, stream, 90, 64);
    bytes[before] = contents(cache);
    CodeCache back = make({.capacity = 100, .before_rope = before});
    back.restore({reinterpret_cast<const char*>(bytes[before].data()), bytes[before].size()});
    CHECK(contents(back) == bytes[before]);
  }
  for (const bool before : {false, true}) {
    CodeCache other = make({.capacity = 100, .before_rope = before});
    std::string said;
    try {
      const auto& from = bytes[!before];
      other.restore({reinterpret_cast<const char*>(from.data()), from.size()});
    } catch (const Error& e) {
      said = e.code() + ": " + e.what();
    }
    CHECK(said.starts_with("snapshot: ") && said.find("pre_rope") != std::string::npos, "%s",
          said.c_str());
    CHECK(other.length() == 0);
  }
}

TEST(the_engine_answers_alike_over_both_layouts) {
  for (const std::string& isa : available_isas()) {
    // 8 bits, so that the layouts differ by little more than rounding.
    Loaded after(kShape, Judge::kNone, 2, isa, 15);
    Loaded before(kShape, Judge::kNone, 2, isa, 15, 4.0f, false, true);
    const auto tokens = some_tokens(300, 1);
    auto rotated = after.sequence(), whole = before.sequence(), steps = before.sequence();
    const auto expected = after.prefill(*rotated, tokens, 40);
    const float tolerance = before.engine->uses_tiles() ? 0.05f : 0.02f;
    const float off = worst(before.prefill(*whole, tokens, 40), expected);
    CHECK(off < tolerance, "%s %g", isa.c_str(), static_cast<double>(off));
    const Floats last(expected.end() - static_cast<long>(after.engine->logit_stride()),
                      expected.end());
    CHECK(worst(last, before.one_by_one(*steps, tokens)) < tolerance, "%s", isa.c_str());
    CHECK(whole->cache().kv_bytes() == rotated->cache().kv_bytes());
  }
}

TEST(every_isa_answers_as_the_scalar_one_over_keys_from_before_rope) {
  for (const Judge judge : {Judge::kNone, Judge::kNetwork}) {
    Loaded scalar(kShape, judge, 1, "scalar", 0, 4.0f, false, true);
    const auto tokens = some_tokens(200, 3), more = some_tokens(5, 4);
    auto reference = scalar.sequence();
    scalar.prefill(*reference, tokens, 0);
    const auto expected = scalar.one_by_one(*reference, more);
    for (const std::string& isa : available_isas()) {
      Loaded model(kShape, judge, 2, isa, 0, 4.0f, false, true);
      auto sequence = model.sequence();
      model.prefill(*sequence, tokens, 0);
      const auto logits = model.one_by_one(*sequence, more);
      const double off = different(*sequence, *reference);
      CHECK(off < (model.engine->uses_tiles() ? 0.05 : 0.02), "%s %f", isa.c_str(), off);
      CHECK(worst(logits, expected) < 0.3f, "%s", isa.c_str());
    }
  }
}

TEST(threads_forks_snapshots_and_batches_agree_over_keys_from_before_rope) {
  const auto tokens = some_tokens(150, 4), more = some_tokens(20, 10);
  Loaded one(kShape, Judge::kNetwork, 1, "", 10, 4.0f, false, true);
  auto expected = one.sequence();
  one.prefill(*expected, tokens, 0);
  auto fork = expected->fork();
  auto restored = one.sequence();
  const auto bytes = expected->save();
  restored->restore({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto wanted = one.one_by_one(*expected, more);
  CHECK(one.one_by_one(fork, more) == wanted);
  CHECK(one.one_by_one(*restored, more) == wanted);
  for (const int threads : {2, 3}) {
    Loaded model(kShape, Judge::kNetwork, threads, "", 10, 4.0f, false, true);
    auto sequence = model.sequence();
    model.prefill(*sequence, tokens, 0);
    CHECK(model.one_by_one(*sequence, more) == wanted, "%d threads", threads);
    CHECK(sequence->save() == expected->save(), "%d threads", threads);
  }
  // Group sizes of 4 and of 8, which is cut into 6 and 2; all in one step.
  for (const int kv_heads : {2, 1}) {
    Loaded model({.hidden = 256, .heads = 8, .kv_heads = kv_heads}, Judge::kNetwork, 2, "", 10,
                 4.0f, false, true);
    std::vector<std::unique_ptr<CodeSequence>> together;
    std::vector<AnyCache> caches;
    Floats alone;
    const std::vector<int32_t> next{1, 2, 3};
    for (int i = 0; i < 3; ++i) {
      auto single = model.sequence();
      together.push_back(model.sequence());
      for (auto* s : {single.get(), together.back().get()}) {
        model.prefill(*s, some_tokens(5 + 60 * i, static_cast<uint64_t>(i)), 0);
      }
      caches.push_back({nullptr, together.back().get()});
      const auto logits = model.prefill(*single, {next[static_cast<size_t>(i)]}, 1);
      alone.insert(alone.end(), logits.begin(), logits.end());
    }
    Floats logits(alone.size());
    Wanted all;
    all.logits = logits.data();
    model.engine->decode(caches.data(), next.data(), 3, all, {});
    CHECK(worst(logits, alone) < 2e-3f, "kv heads %d", kv_heads);
  }
}

TEST(a_full_context_of_keys_from_before_rope_can_be_read) {
  Loaded model(kShape, Judge::kNetwork, 2, "", 10, 4.0f, false, true);
  const int context = model.engine->model().hyper().context;
  auto sequence = model.sequence(context);
  const auto logits = model.prefill(*sequence, some_tokens(context, 2), 1);
  CHECK(sequence->length() == context);
  for (const float x : logits) CHECK(std::isfinite(x));
  sequence->truncate(context - 1);
  for (const float x : model.prefill(*sequence, {3}, 1)) CHECK(std::isfinite(x));
  sequence->requantize(1);
  sequence->slide(context / 2);
  for (const float x : model.prefill(*sequence, {4}, 1)) CHECK(std::isfinite(x));
}
