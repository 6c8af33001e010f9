// Shared memory: mmap of a descriptor, unmapped with the object.
#include "base/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tl/tl.hpp"

namespace tl::distributed {

Mapping::Mapping(int descriptor, int64_t offset, int64_t bytes, const std::string& what) : bytes_(bytes) {
  void* found = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     descriptor, offset);
  if (found == MAP_FAILED) {
    const int number = errno;
    throw Error(number == ENOMEM ? TL_ERROR_OUT_OF_MEMORY : TL_ERROR_RUNTIME,
                what + ": cannot map " + std::to_string(bytes) + " bytes: " + std::strerror(number));
  }
  data_ = static_cast<char*>(found);
}

Mapping::~Mapping() {
  if (data_) munmap(data_, static_cast<size_t>(bytes_));
}

Mapping::Mapping(Mapping&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(bytes_, o.bytes_);
  return *this;
}

}  // namespace tl::distributed
