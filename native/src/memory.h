// Page-aligned, zeroed memory straight from the kernel, in huge pages where it may.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kvq {

class Buffer {
 public:
  Buffer() = default;
  // Reserves n bytes; physical memory comes with the first touch. Throws Error("memory").
  explicit Buffer(size_t n);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  template <class T>
  T* as(size_t byte_offset = 0) const {
    return reinterpret_cast<T*>(data_ + byte_offset);
  }
  // Gives the physical memory back; the bytes read as zero afterwards.
  void release(size_t offset, size_t n) const;

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  void* base_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace kvq
