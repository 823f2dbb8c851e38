// Reader of GGUF files (versions 2 and 3, little-endian). Everything is checked here, once: after
// Gguf::open every name, shape, type and byte range may be trusted.
//
// The file is read with positioned reads and never mapped: a mapped file that somebody truncates
// kills the process with SIGBUS, a short read is an error with a sentence.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "dequant.h"

namespace kvq {

// Bytes that a GGUF is parsed from.
class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Fills dst with n bytes from offset; throws Error("file") when they are not there.
  virtual void read(uint64_t offset, void* dst, size_t n) const = 0;
};

std::unique_ptr<Source> open_file(const std::string& path);
// Does not own the bytes; used by tests and by the fuzz target.
std::unique_ptr<Source> open_memory(const uint8_t* data, size_t size);

struct TensorInfo {
  std::string name;
  TensorType type;
  uint64_t cols;  // values per row, the first dimension in the file
  uint64_t rows;  // product of the other dimensions
  uint32_t n_dims;
  uint64_t offset;     // from the start of the file
  uint64_t row_bytes;  // bytes of one row
  uint64_t bytes() const { return row_bytes * rows; }
};

using MetaValue = std::variant<uint64_t, int64_t, double, bool, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>>;

class Gguf {
 public:
  static Gguf open(const std::string& path) { return Gguf(open_file(path)); }
  explicit Gguf(std::unique_ptr<Source> source);

  const std::map<std::string, MetaValue, std::less<>>& metadata() const { return meta_; }
  const MetaValue* find(std::string_view key) const;
  // Typed look-ups: nullopt when the key is absent, Error("model") when it has another type.
  std::optional<uint64_t> get_uint(std::string_view key) const;
  std::optional<double> get_float(std::string_view key) const;
  std::optional<bool> get_bool(std::string_view key) const;
  const std::string* get_string(std::string_view key) const;
  const std::vector<std::string>* get_strings(std::string_view key) const;
  const std::vector<int64_t>* get_ints(std::string_view key) const;

  const TensorInfo* find_tensor(std::string_view name) const;
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // Reads rows [first, first + n) of a tensor as they stand in the file.
  void read_rows(const TensorInfo& t, uint64_t first, uint64_t n, uint8_t* dst) const {
    source_->read(t.offset + first * t.row_bytes, dst, n * t.row_bytes);
  }
  uint64_t file_size() const { return source_->size(); }
  // CRC-32 of the header: tells models apart for snapshots.
  uint32_t fingerprint() const { return fingerprint_; }

 private:
  std::unique_ptr<Source> source_;
  std::map<std::string, MetaValue, std::less<>> meta_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  uint32_t fingerprint_ = 0;
};

}  // namespace kvq
