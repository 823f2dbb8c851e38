#include "gguf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "crc32.h"
#include "error.h"

namespace kvq {
namespace {

constexpr uint64_t kMaxCount = 1u << 16;        // metadata keys, tensors
constexpr uint64_t kMaxArray = 1u << 24;        // items of one array
constexpr uint64_t kMaxName = 1u << 16;         // bytes of a key or a tensor name
constexpr uint64_t kMaxDimension = 1ull << 32;  // values along one dimension
constexpr uint32_t kMagic = 0x46554747;         // "GGUF"

[[noreturn]] void fail(const std::string& what) { throw Error("file", what); }

class FileSource : public Source {
 public:
  explicit FileSource(const std::string& path) : path_(path) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail("cannot open " + path + ": " + std::strerror(errno));
    struct stat st{};
    if (::fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode)) {
      ::close(fd_);
      fail(path + " is not a regular file");
    }
    size_ = static_cast<uint64_t>(st.st_size);
  }
  ~FileSource() override { ::close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  uint64_t size() const override { return size_; }
  void read(uint64_t offset, void* dst, size_t n) const override {
    auto* out = static_cast<uint8_t*>(dst);
    while (n > 0) {
      const ssize_t got = ::pread(fd_, out, n, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot read " + path_ + ": " + std::strerror(errno));
      if (got == 0) fail(path_ + " ends too early: it is truncated or was changed while loading");
      out += got;
      offset += static_cast<uint64_t>(got);
      n -= static_cast<size_t>(got);
    }
  }

 private:
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

class MemorySource : public Source {
 public:
  MemorySource(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, void* dst, size_t n) const override {
    if (offset > size_ || n > size_ - offset) fail("the file ends too early: it is truncated");
    if (n > 0) std::memcpy(dst, data_ + offset, n);
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

// A buffered cursor over the header that never runs past the end of the source.
class Cursor {
 public:
  explicit Cursor(const Source& source) : source_(source) {}

  template <class T>
  T take() {
    T value;
    take_bytes(&value, sizeof value);
    return value;
  }
  std::string take_string(uint64_t limit) {
    const auto n = take<uint64_t>();
    if (n > limit || n > left()) fail("a text in the header is longer than the file allows");
    std::string s(static_cast<size_t>(n), '\0');
    take_bytes(s.data(), s.size());
    return s;
  }
  void take_bytes(void* dst, size_t n) {
    if (n > left()) fail("the file ends inside its header: it is truncated");
    auto* out = static_cast<uint8_t*>(dst);
    while (n > 0) {
      if (pos_ == end_) refill();
      const size_t m = std::min(n, end_ - pos_);
      std::memcpy(out, buffer_.data() + pos_, m);
      pos_ += m;
      out += m;
      n -= m;
    }
  }
  uint64_t position() const { return base_ + pos_; }
  uint64_t left() const { return source_.size() - position(); }
  // CRC of all bytes taken so far, rounded up to what was buffered.
  uint32_t crc() const { return crc32(buffer_.data(), pos_, crc_); }

 private:
  void refill() {
    crc_ = crc32(buffer_.data(), end_, crc_);
    base_ += end_;
    end_ = static_cast<size_t>(std::min<uint64_t>(1u << 20, source_.size() - base_));
    buffer_.resize(end_);
    source_.read(base_, buffer_.data(), end_);
    pos_ = 0;
  }
  const Source& source_;
  std::vector<uint8_t> buffer_;
  uint64_t base_ = 0;
  size_t pos_ = 0, end_ = 0;
  uint32_t crc_ = 0;
};

enum MetaType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kFloat,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kDouble
};

size_t scalar_bytes(uint32_t type) {
  switch (type) {
    case kU8:
    case kI8:
    case kBool:
      return 1;
    case kU16:
    case kI16:
      return 2;
    case kU32:
    case kI32:
    case kFloat:
      return 4;
    case kU64:
    case kI64:
    case kDouble:
      return 8;
    default:
      return 0;
  }
}

int64_t take_int(Cursor& c, uint32_t type) {
  switch (type) {
    case kU8:
      return c.take<uint8_t>();
    case kI8:
      return c.take<int8_t>();
    case kU16:
      return c.take<uint16_t>();
    case kI16:
      return c.take<int16_t>();
    case kU32:
      return c.take<uint32_t>();
    case kI32:
      return c.take<int32_t>();
    case kBool:
      return c.take<uint8_t>() != 0;
    default:
      return c.take<int64_t>();
  }
}

MetaValue take_array(Cursor& c) {
  const auto type = c.take<uint32_t>();
  const auto n = c.take<uint64_t>();
  if (n > kMaxArray) fail("an array in the header has an impossible length");
  if (type == kString) {
    if (n > c.left() / 8) fail("an array of texts is longer than the file");
    std::vector<std::string> v;
    v.reserve(static_cast<size_t>(n));
    for (uint64_t i = 0; i < n; ++i) v.push_back(c.take_string(c.left()));
    return v;
  }
  const size_t item = scalar_bytes(type);
  if (item == 0) fail("an array in the header has an unknown item type");
  if (n > c.left() / item) fail("an array in the header is longer than the file");
  if (type == kFloat || type == kDouble) {
    std::vector<double> v(static_cast<size_t>(n));
    for (double& x : v) x = type == kFloat ? c.take<float>() : c.take<double>();
    return v;
  }
  std::vector<int64_t> v(static_cast<size_t>(n));
  for (int64_t& x : v) x = take_int(c, type);
  return v;
}

MetaValue take_value(Cursor& c) {
  const auto type = c.take<uint32_t>();
  switch (type) {
    case kU8:
    case kU16:
    case kU32:
      return static_cast<uint64_t>(take_int(c, type));
    case kU64:
      return c.take<uint64_t>();
    case kI8:
    case kI16:
    case kI32:
    case kI64:
      return take_int(c, type);
    case kFloat:
      return static_cast<double>(c.take<float>());
    case kDouble:
      return c.take<double>();
    case kBool:
      return c.take<uint8_t>() != 0;
    case kString:
      return c.take_string(c.left());
    case kArray:
      return take_array(c);
    default:
      fail("the header has a value of unknown type " + std::to_string(type));
  }
}

TensorInfo take_tensor(Cursor& c) {
  TensorInfo t;
  t.name = c.take_string(kMaxName);
  if (t.name.empty()) fail("a tensor has no name");
  t.n_dims = c.take<uint32_t>();
  if (t.n_dims < 1 || t.n_dims > 4) fail("tensor " + t.name + " has an impossible rank");
  t.cols = 0;
  t.rows = 1;
  for (uint32_t i = 0; i < t.n_dims; ++i) {
    const auto d = c.take<uint64_t>();
    if (d < 1 || d > kMaxDimension) fail("tensor " + t.name + " has an impossible dimension");
    if (i == 0) {
      t.cols = d;
    } else if (__builtin_mul_overflow(t.rows, d, &t.rows)) {
      fail("tensor " + t.name + " is too large");
    }
  }
  const auto type = c.take<uint32_t>();
  const TypeTraits* traits = type_traits(type);
  if (!traits) fail("tensor " + t.name + " has the unsupported type " + std::to_string(type));
  if (t.cols % traits->block_values != 0) {
    fail("tensor " + t.name + ": rows of " + std::to_string(t.cols) + " do not fit type " +
         traits->name);
  }
  t.type = static_cast<TensorType>(type);
  t.row_bytes = t.cols / traits->block_values * traits->block_bytes;
  uint64_t bytes;
  if (__builtin_mul_overflow(t.row_bytes, t.rows, &bytes))
    fail("tensor " + t.name + " is too large");
  t.offset = c.take<uint64_t>();
  return t;
}

// Turns offsets relative to the data section into file offsets and checks every byte range.
void place_tensors(std::vector<TensorInfo>& tensors, uint64_t data_start, uint64_t alignment,
                   uint64_t file_size) {
  if (!tensors.empty() && data_start > file_size)
    fail("the file has no tensor data: it is truncated");
  for (TensorInfo& t : tensors) {
    if (t.offset % alignment != 0) fail("tensor " + t.name + " is not aligned");
    const uint64_t room = file_size - data_start;
    if (t.offset > room || t.bytes() > room - t.offset) {
      fail("tensor " + t.name + " lies beyond the end of the file: it is truncated");
    }
    t.offset += data_start;
  }
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->offset + order[i - 1]->bytes() > order[i]->offset) {
      fail("tensors " + order[i - 1]->name + " and " + order[i]->name + " overlap");
    }
  }
}

template <class T>
const T* get_as(const Gguf& g, std::string_view key) {
  const MetaValue* v = g.find(key);
  if (!v) return nullptr;
  const T* typed = std::get_if<T>(v);
  if (!typed) throw Error("model", "metadata key " + std::string(key) + " has an unexpected type");
  return typed;
}

}  // namespace

std::unique_ptr<Source> open_file(const std::string& path) {
  return std::make_unique<FileSource>(path);
}

std::unique_ptr<Source> open_memory(const uint8_t* data, size_t size) {
  return std::make_unique<MemorySource>(data, size);
}

Gguf::Gguf(std::unique_ptr<Source> source) : source_(std::move(source)) {
  Cursor c(*source_);
  if (source_->size() < 24 || c.take<uint32_t>() != kMagic) fail("this is not a GGUF file");
  const auto version = c.take<uint32_t>();
  if (version == 0x02000000 || version == 0x03000000)
    fail("big-endian GGUF files are not supported");
  if (version != 2 && version != 3) {
    fail("GGUF version " + std::to_string(version) + " is not supported");
  }
  const auto n_tensors = c.take<uint64_t>();
  const auto n_meta = c.take<uint64_t>();
  if (n_tensors > kMaxCount || n_meta > kMaxCount) fail("the header has an impossible count");
  for (uint64_t i = 0; i < n_meta; ++i) {
    std::string key = c.take_string(kMaxName);
    if (key.empty()) fail("a metadata key is empty");
    if (!meta_.emplace(key, take_value(c)).second) fail("metadata key " + key + " appears twice");
  }
  for (uint64_t i = 0; i < n_tensors; ++i) {
    tensors_.push_back(take_tensor(c));
    if (!index_.emplace(tensors_.back().name, i).second) {
      fail("tensor " + tensors_.back().name + " appears twice");
    }
  }
  fingerprint_ = c.crc();
  const uint64_t alignment = get_uint("general.alignment").value_or(32);
  if (alignment < 8 || alignment > (1u << 20) || (alignment & (alignment - 1)) != 0) {
    fail("the file's alignment is not a sensible power of two");
  }
  const uint64_t start = (c.position() + alignment - 1) / alignment * alignment;
  place_tensors(tensors_, start, alignment, source_->size());
}

const MetaValue* Gguf::find(std::string_view key) const {
  const auto it = meta_.find(key);
  return it == meta_.end() ? nullptr : &it->second;
}

std::optional<uint64_t> Gguf::get_uint(std::string_view key) const {
  const MetaValue* v = find(key);
  if (!v) return std::nullopt;
  if (const auto* u = std::get_if<uint64_t>(v)) return *u;
  if (const auto* i = std::get_if<int64_t>(v); i && *i >= 0) return static_cast<uint64_t>(*i);
  throw Error("model", "metadata key " + std::string(key) + " must be a non-negative integer");
}

std::optional<double> Gguf::get_float(std::string_view key) const {
  const auto* v = get_as<double>(*this, key);
  return v ? std::optional(*v) : std::nullopt;
}

std::optional<bool> Gguf::get_bool(std::string_view key) const {
  const auto* v = get_as<bool>(*this, key);
  return v ? std::optional(*v) : std::nullopt;
}

const std::string* Gguf::get_string(std::string_view key) const {
  return get_as<std::string>(*this, key);
}

const std::vector<std::string>* Gguf::get_strings(std::string_view key) const {
  return get_as<std::vector<std::string>>(*this, key);
}

const std::vector<int64_t>* Gguf::get_ints(std::string_view key) const {
  return get_as<std::vector<int64_t>>(*this, key);
}

const TensorInfo* Gguf::find_tensor(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &tensors_[it->second];
}

}  // namespace kvq
