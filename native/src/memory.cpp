#include "memory.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "error.h"

namespace kvq {
namespace {
constexpr size_t kHuge = 2u << 20;
}

Buffer::Buffer(size_t n) {
  if (n == 0) return;
  const bool huge = n >= kHuge;
  // Huge pages need an aligned start, which mmap does not promise: map more and align inside.
  mapped_ = huge ? n + kHuge : n;
  base_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base_ == MAP_FAILED) {
    base_ = nullptr;
    throw Error("memory", "not enough memory for " + std::to_string(n >> 20) + " MiB");
  }
  auto address = reinterpret_cast<uintptr_t>(base_);
  if (huge) {
    address = (address + kHuge - 1) & ~(kHuge - 1);
#ifdef MADV_HUGEPAGE
    // A wish: kernels without huge pages refuse it, and 4 KiB pages are only slower.
    (void)::madvise(reinterpret_cast<void*>(address), n, MADV_HUGEPAGE);
#endif
  }
  data_ = reinterpret_cast<uint8_t*>(address);
  size_ = n;
}

Buffer::~Buffer() {
  if (base_) ::munmap(base_, mapped_);
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(base_, other.base_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void Buffer::release(size_t offset, size_t n) const {
  (void)::madvise(data_ + offset, n, MADV_DONTNEED);
}

}  // namespace kvq
