// Attention over the half-precision window, and the attention its tokens receive.

constexpr int kWindowBlocks = kScoreTokens / kBlockTokens;

// o = o * keep + sum of weight * v over the lanes of n blocks that `seen` marks.
template <int NQ>
void add_lanes(const uint16_t* const* v_blocks, const uint16_t* seen, int n, int head_dim,
               const float (*weights)[kScoreTokens], const float* keep, float* o) {
  for (int d = 0; d < head_dim; d += 16) {
    F acc[NQ];
    for (int i = 0; i < NQ; ++i) acc[i] = f_mul(f_load(o + i * head_dim + d), f_set1(keep[i]));
    for (int b = 0; b < n; ++b) {
      for (unsigned left = seen[b]; left; left &= left - 1) {
        const int t = __builtin_ctz(left);
        const F v = f_half(v_blocks[b] + t * head_dim + d);
        for (int i = 0; i < NQ; ++i) {
          acc[i] = f_fma(v, f_set1(weights[i][kBlockTokens * b + t]), acc[i]);
        }
      }
    }
    for (int i = 0; i < NQ; ++i) f_store(o + i * head_dim + d, acc[i]);
  }
}

template <int NQ>
void attend_lanes(const float* q, int head_dim, const uint16_t* const* k_blocks,
                  const uint16_t* const* v_blocks, int n_blocks, const uint16_t* lanes,
                  const int* visible, AttendState* state, float* o, float* scores) {
  alignas(64) float s[NQ][kScoreTokens];
  for (int first = 0; first < n_blocks; first += kWindowBlocks) {
    const int n = n_blocks - first < kWindowBlocks ? n_blocks - first : kWindowBlocks;
    const int start = kBlockTokens * first, size = kBlockTokens * n;
    uint16_t seen[kWindowBlocks] = {};
    F top[NQ];
    for (int i = 0; i < NQ; ++i) top[i] = f_set1(lowest());
    for (int b = first; b < first + n; ++b) {
      F ignored[NQ];
      for (int i = 0; i < NQ; ++i) ignored[i] = top[i];
      score_block<NQ, kScoreSums>(q, head_dim, k_blocks[b], v_blocks[b], kBlockTokens * b, start,
                                  visible, s, ignored);
      for (int i = 0; i < NQ; ++i) {
        float* at = s[i] + kBlockTokens * b - start;
        const F score = f_keep_lanes(f_load(at), lanes[b]);
        f_store(at, score);
        f_store(scores + kBlockTokens * (i * n_blocks + b), score);
        top[i] = f_max(top[i], score);
        const int here = visible[i] - kBlockTokens * b;
        const unsigned mask = here >= 16 ? 0xFFFFu : here <= 0 ? 0u : (1u << here) - 1;
        seen[b - first] = static_cast<uint16_t>(seen[b - first] | (mask & lanes[b]));
      }
    }
    float keep[NQ];
    for (int i = 0; i < NQ; ++i) {
      const float shift = raise(state + i, top[i], keep + i);
      F total = f_zero();
      for (int t = 0; t < size; t += 16) {
        const F weight = softmax_weight(f_load(s[i] + t), shift);
        f_store(s[i] + t, weight);
        total = f_add(total, weight);
      }
      state[i].total = state[i].total * keep[i] + f_sum(total);
    }
    add_lanes<NQ>(v_blocks + first, seen, n, head_dim, s, keep, o);
  }
}

void attend_window(const float* q, int n_queries, int head_dim, const uint16_t* const* k_blocks,
                   const uint16_t* const* v_blocks, int n_blocks, const uint16_t* lanes,
                   const int* visible, AttendState* state, float* o, float* scores) {
  for (int first = 0; first < n_queries;) {
    const int count = queries_together(n_queries - first, kAttendQueries);
    with_count<kAttendQueries>(count, [&]<int NQ>() {
      attend_lanes<NQ>(q + first * head_dim, head_dim, k_blocks, v_blocks, n_blocks, lanes,
                       visible + first, state + first, o + first * head_dim,
                       scores + kBlockTokens * n_blocks * first);
    });
    first += count;
  }
}

void add_weights(const float* scores, int n, float max, float factor, float* sum) {
  for (int t = 0; t < n; t += 16) {
    const F weight = softmax_weight(f_load(scores + t), max);
    f_store(sum + t, f_fma(weight, f_set1(factor), f_load(sum + t)));
  }
}
