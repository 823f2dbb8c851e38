// The forward pass: a model, its threads and its work space. Nothing is allocated and no lock is
// taken while a step runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "code_sequence.h"
#include "code_turn.h"
#include "gguf.h"
#include "kernels/kernels.h"
#include "kv_cache.h"
#include "model.h"
#include "pace.h"
#include "thread_pool.h"

namespace kvq {

constexpr int kMaxBatch = 8;   // sequences of one decode step
constexpr int kMaxRows = 256;  // tokens of one step

// Asked between layers, on the calling thread; true stops the step.
using StopCheck = std::function<bool()>;

// What a step gives back; null pointers and counts of zero mean "not wanted".
struct Wanted {
  int logit_rows = 0;                // of the last so many tokens of a prefill
  float* logits = nullptr;           // [logit_rows or sequences][logit_stride()]
  float* hidden = nullptr;           // [tokens or sequences][hidden], after the final norm
  const int32_t* allowed = nullptr;  // sorted; only their logits are computed, others are -inf
  int n_allowed = 0;
  // The residual stream after so many layers (0: the embeddings), for each of n_depths numbers:
  // states [n_depths][tokens][hidden].
  const int* depths = nullptr;
  int n_depths = 0;
  float* states = nullptr;
  size_t state_stride = 0;  // floats from one depth to the next
  // Layers to compute, 0 for all. With fewer there are no logits, and the cache does not keep the
  // tokens.
  int stop_after = 0;
};

class CodeWork;

struct Range {
  int begin, end;
};

// One sequence's cache: one of the two.
struct AnyCache {
  KvCache* halves = nullptr;
  CodeSequence* codes = nullptr;
  int length() const { return halves ? halves->length() : codes->length(); }
  int capacity() const { return halves ? halves->shape().capacity : codes->capacity(); }
  bool operator==(const AnyCache&) const = default;
};

class Engine {
 public:
  // isa as in select_kernels. Throws Error.
  Engine(const Gguf& file, int threads, const std::string& isa);
  ~Engine();

  const Model& model() const { return *model_; }
  const Kernels& kernels() const { return kernels_; }
  int threads() const { return pool_.size(); }
  bool uses_tiles() const { return kernels_.gemm_bf16 != nullptr; }
  // Tokens per step of a prefill: more makes better use of unpacked weights, fewer answers sooner.
  int prefill_rows() const { return uses_tiles() ? kMaxRows : 64; }
  // The same for quantized caches, where it also decides what a prompt sees in 16 bits.
  int code_rows() const;
  CacheShape cache_shape(int capacity) const;
  // From now on code_sequence makes sequences with caches of this kind. To be called once, before
  // any of them. Throws Error("argument") and Error("memory").
  void quantize_caches(std::shared_ptr<const Quantization> quantization);
  const std::shared_ptr<const Quantization>& quantization() const { return quantization_; }
  const CellPool& pool() const { return *pool_of_cells_; }
  std::unique_ptr<CodeSequence> code_sequence(int capacity) const;
  std::vector<float> frequencies() const { return frequencies_; }
  // Floats from one row of logits to the next; the vocabulary rounded up to whole tiles.
  size_t logit_stride() const { return static_cast<size_t>(model_->head().tiles()) * kTileRows; }

  // Appends n tokens to a cache, in chunks. Throws Error("context") when they do not fit and
  // Error("cancelled") when stopped; the cache then holds the chunks that were done.
  void prefill(KvCache& cache, const int32_t* tokens, int n, const Wanted& wanted,
               const StopCheck& stop);
  void prefill(AnyCache cache, const int32_t* tokens, int n, const Wanted& wanted,
               const StopCheck& stop);
  // Appends one token to each of n different caches (at most kMaxBatch) of any kind.
  void decode(const AnyCache* caches, const int32_t* tokens, int n, const Wanted& wanted,
              const StopCheck& stop);
  void decode(KvCache* const* caches, const int32_t* tokens, int n, const Wanted& wanted,
              const StopCheck& stop);

 private:
  struct Row {
    KvCache* cache;  // one of the two
    CodeSequence* codes;
    int32_t token;
    int position;
  };
  // Query heads that one attend call takes together; they share a KV head.
  struct HeadGroup {
    int kv_head, first, count;
  };
  struct Step;
  void allocate(int max_context);
  Activations activations(uint8_t* memory, float* values, int cols, int rows) const;
  void run(int n_rows, bool batch, int logit_rows, const Wanted& wanted, float* hidden,
           const StopCheck& stop);
  void forward(const Step& step, int thread);
  bool layer(const Step& step, int thread, int index);
  void prepare(const Step& step, const Activations& x, int begin, int end) const;
  void multiply(const Step& step, const PackedMatrix& w, const Activations& x, int thread,
                float* out, size_t stride) const;
  void multiply_tiles(const Step& step, const PackedMatrix& w, const Activations& x, int tile0,
                      int tile1, int thread, float* out, size_t stride) const;
  void add_output(const Step& step, const PackedMatrix& w, const Activations& x, int thread);
  void rotate(float* head, const float* angles, float scale) const;
  void store_keys(const Step& step, int row, int layer);
  void attend_batch(const Step& step, int thread, int layer);
  void attend_prefill(const Step& step, int thread, int layer);
  void combine(const Step& step, int thread, int layer, int row, float* out) const;
  void keep_states(const Step& step, int depth, Range rows) const;
  void finish(const Step& step, int thread);
  int chunk_blocks(int position) const;
  int chunks(const Row& row) const;
  void keep(int n_rows, bool batch);
  void compute(int n_rows, bool batch, int logit_rows, const Wanted& wanted, float* hidden,
               const StopCheck& stop);
  void locate_window();

  // Attention over quantized caches (code_attention.cpp, code_prefill.cpp).
  void rotate_query(float* q, const float* angles) const;
  void transform(float* key, const float* angles, float* value, int place) const;
  void transform_back(float* out, const Row& row, int layer, int head) const;
  void store_codes(const Step& step, int row, int layer);
  int head_cost(const Row& row, int layer, int head) const;
  void cut_head(const Row& row, int layer, int head, int* cuts) const;
  void note_lengths(float* to, int place, const float* key, const float* value) const;
  Range share_by_cost(const Step& step, int thread, int layer) const;
  void attend_codes(const Step& step, int thread, int layer, int row, int group, int first,
                    Range units);
  void note_received(const Step& step, int thread, int layer, int row, int group,
                     const AttendState* joined) const;
  void attend_code_prefill(const Step& step, int thread, int layer);
  int gather_queries(const HeadGroup& group, int row0, int row1, float* queries) const;
  void attend_turned(const Step& step, int thread, int layer, const HeadGroup& group,
                     const CodeList* lists, int n_lists);
  void add_up_received(const Step& step, int thread, int layer);
  // What leaves the window at the end of a step (code_settle.cpp).
  void judge(const Step& step, int thread);
  void judge_row(const Step& step, int thread, int row);
  void judge_prompt(const Step& step, int thread, int begin, int end, float offset);
  void judge_token(const Step& step, int thread, int row, int token, Range places, float offset);
  void read_leaving(const Row& row, int place, int position, float* k, float* v) const;
  void plan(const Step& step);
  void quantize(const Step& step, int thread);
  void quantize_row(int row, Range places);
  void quantize_prompt(const Step& step, Range places);

  Kernels kernels_;
  ThreadPool pool_;
  Pace decode_pace_, prefill_pace_;
  std::unique_ptr<Model> model_;
  std::mutex mutex_;  // one step at a time; taken once a step, outside of it

  std::vector<HeadGroup> groups_;
  std::vector<float> frequencies_;  // [head_dim / 2]
  std::vector<Row> rows_;
  std::atomic<bool> stopped_{false};
  std::shared_ptr<const Quantization> quantization_;
  std::shared_ptr<CellPool> pool_of_cells_;
  std::unique_ptr<CodeWork> work_;
  TurnTable turns_;                // where keys are stored before RoPE
  float step_offset_ = 0.0f;       // of the tokens that a prefill step judges
  uint64_t judge_time_ = 0;        // nanoseconds of the step, on one thread
  std::vector<float> all_logits_;  // where entropies are measured
  std::string plan_failure_;       // why the step's tokens could not be quantized
  Buffer memory_;
  float* x_ = nullptr;                    // [rows][hidden] the residual stream
  float* normed_ = nullptr;               // [threads or rows][...] input of a stage as floats
  float* qkv_ = nullptr;                  // [rows][q_rows + 2 * kv_rows]
  float* attended_ = nullptr;             // [rows][q_rows]
  float* ffn_ = nullptr;                  // [rows][ffn]
  float* up_ = nullptr;                   // [rows][ffn]
  float* out_ = nullptr;                  // [rows][hidden]
  float* angles_ = nullptr;               // [rows][head_dim] cosines, then sines
  uint8_t* codes_ = nullptr;              // activations shared by all threads
  float* head_in_ = nullptr;              // [kMaxRows][hidden]
  AttendState* partial_state_ = nullptr;  // [units][kMaxQueries]
  float* partial_ = nullptr;              // [units][kMaxQueries][head_dim]
  std::vector<uint8_t*> private_codes_;   // per thread, for steps of one or two rows
  std::vector<float*> private_values_;
  std::vector<uint16_t*> panels_;
  int max_units_ = 0;
};

}  // namespace kvq
