// Memory of a file descriptor in this process, for as long as the object lives.
#pragma once

#include <cstdint>
#include <string>

namespace tl::distributed {

class Mapping {
 public:
  Mapping() = default;
  Mapping(int descriptor, int64_t offset, int64_t bytes, const std::string& what);
  ~Mapping();
  Mapping(Mapping&& o) noexcept;
  Mapping& operator=(Mapping&& o) noexcept;
  Mapping(const Mapping&) = delete;
  char* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace tl::distributed
