// The forward pass over quantized caches, on a tiny random model.
#include <algorithm>
#include <cmath>
#include <memory>

#include "coded_engine.h"
#include "error.h"

using namespace kvq;
using namespace kvq::test;

TEST(wide_codes_give_nearly_the_logits_of_halves) {
  for (const std::string& isa : available_isas()) {
    Loaded model(kShape, Judge::kNone, 2, isa, 15);
    const auto tokens = some_tokens(300, 1);
    KvCache halves(model.engine->cache_shape(600));
    const auto expected = model.prefill(AnyCache{&halves, nullptr}, tokens, 40);
    auto codes = model.sequence(), steps = model.sequence();
    const float tolerance = model.engine->uses_tiles() ? 0.05f : 0.02f;
    CHECK(worst(model.prefill(*codes, tokens, 40), expected) < tolerance, "%s", isa.c_str());
    CHECK(codes->cache().front() == 300 - 32, "%s", isa.c_str());
    auto last = model.one_by_one(*steps, tokens);
    last.erase(last.begin(), last.end() - 56);
    CHECK(worst(std::vector<float>(expected.end() - static_cast<long>(model.engine->logit_stride()),
                                   expected.end()),
                model.one_by_one(*model.sequence(), tokens)) < tolerance,
          "%s", isa.c_str());
  }
}

TEST(inside_the_window_codes_and_halves_are_the_same) {
  Loaded model(kShape, Judge::kNetwork, 1, "scalar");
  const auto tokens = some_tokens(36, 2);
  KvCache halves(model.engine->cache_shape(600));
  auto codes = model.sequence();
  const auto expected = model.prefill(AnyCache{&halves, nullptr}, tokens, 36);
  CHECK(worst(model.prefill(*codes, tokens, 36), expected) < 2e-3f);
  CHECK(codes->cache().front() == 4 && codes->cache().kv_bytes() > 0);
}

TEST(every_isa_judges_and_answers_as_the_scalar_one) {
  for (const Judge judge : {Judge::kLinear, Judge::kNetwork, Judge::kPerToken}) {
    Loaded scalar(kShape, judge, 1, "scalar");
    const auto tokens = some_tokens(200, 3);
    auto reference = scalar.sequence();
    const auto expected = scalar.prefill(*reference, tokens, 1);
    const auto counts = reference->cache().class_tokens();
    CHECK(std::count_if(counts.begin(), counts.end(), [](uint64_t n) { return n > 0; }) >
          (judge == Judge::kPerToken ? 1 : 2));
    for (const std::string& isa : available_isas()) {
      Loaded model(kShape, judge, 2, isa);
      auto sequence = model.sequence();
      const auto logits = model.prefill(*sequence, tokens, 1);
      // A sum that is rounded otherwise may put a token on the other side of a threshold.
      const double off = different(*sequence, *reference);
      CHECK(off < (model.engine->uses_tiles() ? 0.05 : 0.02), "%s %f", isa.c_str(), off);
      CHECK(worst(logits, expected) < 0.3f, "%s", isa.c_str());
    }
  }
}

TEST(the_number_of_threads_does_not_change_a_code) {
  for (const Judge judge : {Judge::kNone, Judge::kNetwork, Judge::kPerToken}) {
    const auto tokens = some_tokens(260, 4);
    Loaded one(kShape, judge, 1, "");
    auto expected = one.sequence();
    one.prefill(*expected, tokens, 0);
    const auto wanted = one.one_by_one(*expected, some_tokens(80, 5));
    for (const int threads : {2, 3, 4}) {
      Loaded model(kShape, judge, threads, "");
      auto sequence = model.sequence();
      model.prefill(*sequence, tokens, 0);
      CHECK(model.one_by_one(*sequence, some_tokens(80, 5)) == wanted, "%d threads", threads);
      CHECK(sequence->save() == expected->save(), "%d threads", threads);
    }
  }
}

TEST(a_batch_of_both_kinds_gives_what_each_gives_alone) {
  for (const int kv_heads : {2, 1}) {
    Loaded model({.hidden = 256, .heads = 8, .kv_heads = kv_heads}, Judge::kNetwork, 2, "");
    std::vector<std::unique_ptr<CodeSequence>> alone, together;
    KvCache half_alone(model.engine->cache_shape(600)), half(model.engine->cache_shape(600));
    std::vector<AnyCache> caches;
    std::vector<int32_t> next;
    std::vector<float> expected;
    for (int i = 0; i < 5; ++i) {
      const auto tokens = some_tokens(5 + 60 * i, static_cast<uint64_t>(i));
      next.push_back(i + 1);
      if (i == 2) {
        model.prefill(AnyCache{&half_alone, nullptr}, tokens, 0);
        model.prefill(AnyCache{&half, nullptr}, tokens, 0);
        caches.push_back({&half, nullptr});
        const auto logits = model.prefill(AnyCache{&half_alone, nullptr}, {i + 1}, 1);
        expected.insert(expected.end(), logits.begin(), logits.end());
        continue;
      }
      alone.push_back(model.sequence());
      together.push_back(model.sequence());
      model.prefill(*alone.back(), tokens, 0);
      model.prefill(*together.back(), tokens, 0);
      caches.push_back({nullptr, together.back().get()});
      const auto logits = model.prefill(*alone.back(), {i + 1}, 1);
      expected.insert(expected.end(), logits.begin(), logits.end());
    }
    std::vector<float> logits(expected.size());
    Wanted wanted;
    wanted.logits = logits.data();
    model.engine->decode(caches.data(), next.data(), 5, wanted, {});
    CHECK(worst(logits, expected) < 2e-3f, "kv heads %d", kv_heads);
    for (size_t i = 0; i < alone.size(); ++i) {
      CHECK(alone[i]->length() == together[i]->length());
      CHECK(alone[i]->cache().front() == together[i]->cache().front());
    }
  }
}

TEST(calls_may_cut_a_text_anywhere_at_a_chunk) {
  Loaded model(kShape, Judge::kNetwork, 2, "");
  const auto tokens = some_tokens(300, 6);
  auto whole = model.sequence(), parts = model.sequence();
  const auto expected = model.prefill(*whole, tokens, 1);
  std::vector<float> last;
  for (size_t at = 0; at < tokens.size(); at += 128) {
    const auto end = std::min(tokens.size(), at + 128);
    last = model.prefill(
        *parts, {tokens.begin() + static_cast<long>(at), tokens.begin() + static_cast<long>(end)},
        1);
  }
  CHECK(last == expected);
  CHECK(parts->save() == whole->save());
}

TEST(a_cancelled_step_leaves_the_cache_as_it_was) {
  Loaded model(kShape, Judge::kNetwork, 2, "");
  auto sequence = model.sequence(), other = model.sequence();
  const auto tokens = some_tokens(150, 7), more = some_tokens(40, 8);
  model.prefill(*sequence, tokens, 0);
  model.prefill(*other, tokens, 0);
  const auto before = sequence->save();
  for (const size_t n : {size_t{1}, size_t{40}}) {
    int asked = 0;
    const StopCheck stop = [&asked] { return ++asked > 1; };
    bool thrown = false;
    try {
      model.prefill(AnyCache{nullptr, sequence.get()},
                    {more.begin(), more.begin() + static_cast<long>(n)}, 1, stop);
    } catch (const Error& e) {
      thrown = e.code() == "cancelled";
    }
    CHECK(thrown);
    CHECK(sequence->save() == before, "%zu tokens", n);
  }
  CHECK(model.one_by_one(*sequence, more) == model.one_by_one(*other, more));
  CHECK(sequence->save() == other->save());
}

TEST(forks_snapshots_and_going_back_go_on_alike) {
  Loaded model(kShape, Judge::kNetwork, 2, "");
  auto sequence = model.sequence();
  model.prefill(*sequence, some_tokens(200, 9), 0);
  CodeSequence fork = sequence->fork();
  auto restored = model.sequence();
  const auto bytes = sequence->save();
  restored->restore({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  CHECK(restored->tokens() == sequence->tokens() && restored->offset() == sequence->offset());
  const auto more = some_tokens(70, 10);
  const auto expected = model.one_by_one(*sequence, more);
  CHECK(model.one_by_one(fork, more) == expected);
  CHECK(model.one_by_one(*restored, more) == expected);
  CHECK(fork.save() == sequence->save());
  // Back by less than the window: the same tokens give the same again, but for what the dropped
  // queries added to the attention received.
  auto again = model.sequence();
  model.prefill(*again, some_tokens(200, 9), 0);
  again->truncate(190);
  CHECK(again->length() == 190 && again->tokens().size() == 190 && again->cache().front() == 168);
  again->truncate(100);
  CHECK(again->cache().front() == 100);
  const auto logits = model.prefill(*again, some_tokens(50, 11), 1);
  for (const float x : logits) CHECK(std::isfinite(x));
  again->truncate(0);
  auto fresh = model.sequence();
  CHECK(model.prefill(*again, more, 1) == model.prefill(*fresh, more, 1));
}

TEST(the_budget_is_kept) {
  for (const float body : {2.5f, 4.0f, 6.0f}) {
    Loaded model(kShape, Judge::kLinear, 2, "", 0, body);
    auto sequence = model.sequence();
    model.prefill(*sequence, some_tokens(590, 12), 0);
    const CodeModel& m = sequence->cache().model();
    double bits = 0.0, n = 0.0;
    for (int c = 0; c < kClasses; ++c) {
      const auto count =
          static_cast<double>(sequence->cache().class_tokens()[static_cast<size_t>(c)]);
      bits += count * class_bits(m.ladder, c, m.shape.head_dim);
      n += count;
    }
    CHECK(std::fabs(bits / n - static_cast<double>(body)) < 0.4, "wanted %f, got %f",
          static_cast<double>(body), bits / n);
  }
}

TEST(measured_entropies_are_used) {
  Loaded table(kShape, Judge::kNetwork, 2, ""),
      exact(kShape, Judge::kNetwork, 2, "", 0, 4.0f, true);
  const auto tokens = some_tokens(200, 13);
  auto a = table.sequence(), b = exact.sequence();
  table.prefill(*a, tokens, 0);
  const auto logits = exact.prefill(*b, tokens, 1);
  CHECK(different(*a, *b) > 0.0);
  CHECK(b->entropy(199) != nullptr && *b->entropy(199) > 0.0f);
  auto c = exact.sequence();
  std::vector<float> last(exact.engine->logit_stride());
  const int32_t allowed[] = {3, 9};
  Wanted wanted;
  wanted.logit_rows = 1;
  wanted.logits = last.data();
  wanted.allowed = allowed;
  wanted.n_allowed = 2;
  exact.engine->prefill(AnyCache{nullptr, c.get()}, tokens.data(), 200, wanted, {});
  CHECK(last[3] == logits[3] && last[9] == logits[9] && std::isinf(last[4]));
}

TEST(states_after_some_layers_lead_to_the_logits) {
  Loaded model(kShape, Judge::kNone, 2, "");
  const auto tokens = some_tokens(90, 14);
  KvCache cache(model.engine->cache_shape(600));
  const size_t size = 90 * 128;
  std::vector<float> states(3 * size), early(2 * size);
  Wanted wanted;
  const int depths[] = {0, 1, 2};
  wanted.depths = depths;
  wanted.n_depths = 3;
  wanted.states = states.data();
  wanted.state_stride = size;
  model.engine->prefill(cache, tokens.data(), 90, wanted, {});
  CHECK(cache.length() == 90);
  cache.truncate(0);
  wanted.n_depths = 2;
  wanted.states = early.data();
  wanted.stop_after = 1;
  model.engine->prefill(cache, tokens.data(), 90, wanted, {});
  CHECK(cache.length() == 0);
  CHECK(std::equal(early.begin(), early.end(), states.begin()));
  CHECK(!std::equal(early.begin() + size, early.end(), states.begin() + 2 * size));
  auto codes = model.sequence();
  bool refused = false;
  try {
    model.engine->prefill(AnyCache{nullptr, codes.get()}, tokens.data(), 90, wanted, {});
  } catch (const Error& e) {
    refused = e.code() == "argument";
  }
  CHECK(refused && codes->length() == 0);
}
