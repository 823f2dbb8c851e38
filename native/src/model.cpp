#include "model.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <set>

#include "crc32.h"
#include "error.h"

namespace kvq {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error("model", what); }

int need_int(const Gguf& file, const std::string& key, uint64_t low, uint64_t high) {
  const auto v = file.get_uint(key);
  if (!v) fail("the model file does not say " + key);
  if (*v < low || *v > high) {
    fail(key + " is " + std::to_string(*v) + ", expected " + std::to_string(low) + " to " +
         std::to_string(high));
  }
  return static_cast<int>(*v);
}

// One tensor on its way into a packed matrix.
struct Job {
  const TensorInfo* tensor;
  PackedMatrix* matrix;
  int rope_head_dim;  // > 0: rows of a head are stored as RoPE pairs (2i, 2i+1) and become halves
  size_t code_offset = 0, scale_offset = 0;

  // Row of the file that packed row r comes from.
  uint64_t source_row(int r) const {
    if (rope_head_dim == 0) return static_cast<uint64_t>(r);
    const int head = r / rope_head_dim, i = r % rope_head_dim, half = rope_head_dim / 2;
    return static_cast<uint64_t>(head * rope_head_dim + (i < half ? 2 * i : 2 * (i - half) + 1));
  }
};

class Loader {
 public:
  explicit Loader(const Gguf& file) : file_(file) {}

  bool has(const std::string& name) const { return file_.find_tensor(name) != nullptr; }

  void matrix(const std::string& name, int rows, int cols, PackedMatrix& w, int rope_head_dim = 0) {
    const TensorInfo& t = tensor(name, rows, cols, 2);
    w.format = packed_format(t.type);
    w.rows = rows;
    w.cols = cols;
    Job job{&t, &w, rope_head_dim};
    job.code_offset = place(w.code_bytes());
    job.scale_offset = place(w.scale_bytes());
    jobs_.push_back(job);
  }

  void vector(const std::string& name, int n, float* out) {
    const TensorInfo& t = tensor(name, 1, n, 1);
    std::vector<uint8_t> raw(t.bytes());
    file_.read_rows(t, 0, 1, raw.data());
    dequantize(t.type, raw.data(), static_cast<size_t>(n), out);
    for (int i = 0; i < n; ++i) {
      if (!(out[i] - out[i] == 0.0f)) fail("tensor " + name + " holds a value that is not finite");
    }
  }

  void refuse_unknown_tensors() const {
    for (const TensorInfo& t : file_.tensors()) {
      if (!used_.contains(t.name))
        fail("the model has a tensor this engine does not know: " + t.name);
    }
  }

  size_t bytes() const { return bytes_; }

  void load(Buffer& memory, ThreadPool& pool) {
    // Units of work: one tile each, numbered over all jobs.
    std::vector<size_t> first = {0};
    for (Job& job : jobs_) {
      job.matrix->codes = memory.data() + job.code_offset;
      job.matrix->scales = memory.as<uint16_t>(job.scale_offset);
      first.push_back(first.back() + static_cast<size_t>(job.matrix->tiles()));
    }
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    pool.run([&](int) {
      try {
        std::vector<uint8_t> raw;
        constexpr size_t kBatch = 16;
        size_t job = 0;
        for (size_t begin; (begin = next.fetch_add(kBatch)) < first.back();) {
          for (size_t u = begin; u < std::min(begin + kBatch, first.back()); ++u) {
            while (u >= first[job + 1]) ++job;
            load_tile(jobs_[job], static_cast<int>(u - first[job]), raw);
          }
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(first.back());
      }
    });
    if (error) std::rethrow_exception(error);
  }

 private:
  const TensorInfo& tensor(const std::string& name, int rows, int cols, uint32_t n_dims) {
    const TensorInfo* t = file_.find_tensor(name);
    if (!t) fail("the model has no tensor " + name);
    if (t->cols != static_cast<uint64_t>(cols) || t->rows != static_cast<uint64_t>(rows) ||
        t->n_dims > n_dims) {
      fail("tensor " + name + " is " + std::to_string(t->cols) + " x " + std::to_string(t->rows) +
           ", expected " + std::to_string(cols) + " x " + std::to_string(rows));
    }
    used_.insert(name);
    return *t;
  }

  size_t place(size_t n) {
    const size_t at = bytes_;
    bytes_ += (n + 63) / 64 * 64;
    return at;
  }

  void load_tile(const Job& job, int tile, std::vector<uint8_t>& raw) const {
    uint64_t low = UINT64_MAX, high = 0;
    const int begin = tile * kTileRows, end = std::min(begin + kTileRows, job.matrix->rows);
    for (int r = begin; r < end; ++r) {
      low = std::min(low, job.source_row(r));
      high = std::max(high, job.source_row(r));
    }
    raw.resize((high - low + 1) * job.tensor->row_bytes);
    file_.read_rows(*job.tensor, low, high - low + 1, raw.data());
    const uint8_t* rows[kTileRows] = {};
    for (int r = begin; r < end; ++r) {
      rows[r - begin] = raw.data() + (job.source_row(r) - low) * job.tensor->row_bytes;
    }
    if (!pack_tile(job.tensor->type, rows, *job.matrix, tile)) {
      fail("tensor " + job.tensor->name + " holds a value that is not finite or too large");
    }
  }

  const Gguf& file_;
  std::vector<Job> jobs_;
  std::set<std::string> used_;
  size_t bytes_ = 0;
};

// The header names the model's shape; a sample of every tensor tells fine-tunings apart.
uint32_t fingerprint_of(const Gguf& file) {
  uint32_t crc = file.fingerprint();
  uint8_t sample[1024];
  for (const TensorInfo& t : file.tensors()) {
    const uint64_t row = t.rows / 2;
    const size_t n = static_cast<size_t>(std::min<uint64_t>(sizeof sample, t.row_bytes));
    TensorInfo part = t;
    part.offset += row * t.row_bytes;
    part.row_bytes = n;
    file.read_rows(part, 0, 1, sample);
    crc = crc32(sample, n, crc);
  }
  return crc;
}

}  // namespace

Hyper read_hyper(const Gguf& file) {
  const std::string* arch = file.get_string("general.architecture");
  if (!arch) fail("the model file does not name its architecture");
  if (*arch != "llama") fail("architecture '" + *arch + "' is not supported, only llama is");
  Hyper h;
  h.layers = need_int(file, "llama.block_count", 1, 256);
  h.hidden = need_int(file, "llama.embedding_length", 32, 16384);
  h.heads = need_int(file, "llama.attention.head_count", 1, 256);
  h.kv_heads = file.find("llama.attention.head_count_kv")
                   ? need_int(file, "llama.attention.head_count_kv", 1, 256)
                   : h.heads;
  h.ffn = need_int(file, "llama.feed_forward_length", 32, 65536);
  h.context = need_int(file, "llama.context_length", 1, 1u << 20);
  if (h.heads % h.kv_heads != 0) fail("the number of heads is not a multiple of the KV heads");
  if (h.hidden % 32 != 0 || h.ffn % 32 != 0) fail("row lengths must be multiples of 32");
  if (h.hidden % h.heads != 0 && !file.find("llama.attention.key_length")) {
    fail("the hidden size is not a multiple of the number of heads");
  }
  h.head_dim = file.find("llama.attention.key_length")
                   ? need_int(file, "llama.attention.key_length", 16, 256)
                   : h.hidden / h.heads;
  if (h.head_dim % 16 != 0 || h.head_dim > 256 || h.head_dim < 16 || h.q_rows() % 32 != 0) {
    fail("a head size of " + std::to_string(h.head_dim) + " is not supported");
  }
  if (file.get_uint("llama.attention.value_length").value_or(h.head_dim) !=
          static_cast<uint64_t>(h.head_dim) ||
      file.get_uint("llama.rope.dimension_count").value_or(h.head_dim) !=
          static_cast<uint64_t>(h.head_dim)) {
    fail("keys, values and their rotation must have the same size");
  }
  const std::string* scaling = file.get_string("llama.rope.scaling.type");
  if (scaling && *scaling != "none") fail("RoPE scaling '" + *scaling + "' is not supported");
  const double epsilon = file.get_float("llama.attention.layer_norm_rms_epsilon").value_or(-1.0);
  if (!(epsilon > 0.0 && epsilon < 1.0)) fail("the RMS norm's epsilon is missing or out of range");
  const double theta = file.get_float("llama.rope.freq_base").value_or(10000.0);
  if (!(theta >= 1.0 && theta <= 1e12)) fail("RoPE's base is out of range");
  h.rms_epsilon = static_cast<float>(epsilon);
  h.rope_theta = static_cast<float>(theta);
  const TensorInfo* embedding = file.find_tensor("token_embd.weight");
  if (!embedding) fail("the model has no tensor token_embd.weight");
  if (embedding->rows > (1u << 20)) fail("the vocabulary is impossibly large");
  h.vocab = static_cast<int>(embedding->rows);
  const auto* tokens = file.get_strings("tokenizer.ggml.tokens");
  if (tokens && tokens->size() != embedding->rows) {
    fail("the vocabulary and the embedding differ in size");
  }
  return h;
}

Model::Model(const Gguf& file, ThreadPool& pool) : hyper_(read_hyper(file)) {
  const Hyper& h = hyper_;
  Loader loader(file);
  layers_.resize(static_cast<size_t>(h.layers));
  norms_.resize((2 * layers_.size() + 1) * static_cast<size_t>(h.hidden));
  float* norm = norms_.data();
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& l = layers_[i];
    const std::string prefix = "blk." + std::to_string(i) + ".";
    loader.vector(prefix + "attn_norm.weight", h.hidden, norm);
    loader.vector(prefix + "ffn_norm.weight", h.hidden, norm + h.hidden);
    l.attention_norm = norm;
    l.ffn_norm = norm + h.hidden;
    norm += 2 * h.hidden;
    loader.matrix(prefix + "attn_q.weight", h.q_rows(), h.hidden, l.q, h.head_dim);
    loader.matrix(prefix + "attn_k.weight", h.kv_rows(), h.hidden, l.k, h.head_dim);
    loader.matrix(prefix + "attn_v.weight", h.kv_rows(), h.hidden, l.v);
    loader.matrix(prefix + "attn_output.weight", h.hidden, h.q_rows(), l.o);
    loader.matrix(prefix + "ffn_gate.weight", h.ffn, h.hidden, l.gate);
    loader.matrix(prefix + "ffn_up.weight", h.ffn, h.hidden, l.up);
    loader.matrix(prefix + "ffn_down.weight", h.hidden, h.ffn, l.down);
  }
  loader.vector("output_norm.weight", h.hidden, norm);
  final_norm_ = norm;
  loader.matrix("token_embd.weight", h.vocab, h.hidden, embedding_);
  tied_ = !loader.has("output.weight");
  if (!tied_) loader.matrix("output.weight", h.vocab, h.hidden, head_);
  loader.refuse_unknown_tensors();
  memory_ = Buffer(loader.bytes());
  loader.load(memory_, pool);
  fingerprint_ = fingerprint_of(file);
}

}  // namespace kvq
