// The door to tl-core: its table, owned handles, and errors as exceptions inside this library.
#pragma once

#include <utility>

#include "tl/c_api.h"

namespace tl::compiler {

extern const TlApi* api;

inline constexpr uint64_t kDeferBit = uint64_t{1} << TL_LAYER_DEFER;

// Thrown after an error became pending on this thread.
struct Pending {};

inline void check(int status) {
  if (status != 0) [[unlikely]]
    throw Pending();
}
// Makes the exception that is being handled the thread's pending error; -1.
int pending_from_exception() noexcept;

// An owned handle.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TlTensor* owned) : t_(owned) {}
  static Tensor share(TlTensor* t) {
    if (t) api->tensor_retain(t);
    return Tensor(t);
  }
  Tensor(Tensor&& o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
  Tensor(const Tensor& o) : t_(o.t_) {
    if (t_) api->tensor_retain(t_);
  }
  Tensor& operator=(Tensor o) noexcept {
    std::swap(t_, o.t_);
    return *this;
  }
  ~Tensor() {
    if (t_) api->tensor_release(t_);
  }
  TlTensor* get() const { return t_; }
  TlTensor* take() { return std::exchange(t_, nullptr); }
  explicit operator bool() const { return t_; }

 private:
  TlTensor* t_ = nullptr;
};
// The result of a function that returns an owned handle; throws where it failed.
inline Tensor owned(TlTensor* t) {
  if (!t) throw Pending();
  return Tensor(t);
}

}  // namespace tl::compiler
