// The door to tl-core: its table, owned handles, and errors as exceptions inside this library.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "tl/c_api.h"

namespace tl::autograd {

extern const TlApi* api;

inline constexpr uint64_t kAutogradBit = uint64_t{1} << TL_LAYER_AUTOGRAD;

// Thrown after an error became pending on this thread.
struct Pending {};

[[noreturn, gnu::cold]] void fail(int kind, const std::string& message);
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

inline TlValue none() { return {TL_NONE, 0, {0}}; }
inline TlValue value(TlTensor* t) { return t ? TlValue{TL_TENSOR, 0, {.t = t}} : none(); }
inline TlValue value(const Tensor& t) { return value(t.get()); }
inline TlValue value(int64_t i) { return {TL_INT, 0, {.i = i}}; }
inline TlValue value(bool b) { return {TL_BOOL, 0, {.i = b}}; }
inline TlValue ints(const int64_t* p, size_t n) { return {TL_INT_LIST, static_cast<uint32_t>(n), {.p = p}}; }

inline bool is_complex(int64_t dtype) { return TL_DTYPE_CODE(dtype) == TL_CODE_COMPLEX; }
inline bool is_differentiable(int64_t dtype) {
  const int code = TL_DTYPE_CODE(dtype);
  return code == TL_CODE_FLOAT || code == TL_CODE_BFLOAT || code == TL_CODE_COMPLEX;
}

// Gradient recording on or off for a scope.
class GradMode {
 public:
  explicit GradMode(bool on) : before_(api->grad_enabled()) { api->set_grad_enabled(on); }
  ~GradMode() { api->set_grad_enabled(before_); }
  GradMode(const GradMode&) = delete;

 private:
  int before_;
};

}  // namespace tl::autograd
