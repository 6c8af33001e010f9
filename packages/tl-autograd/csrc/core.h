// The door to tl-core: its table, owned handles, and errors as exceptions inside this library.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "thread.h"
#include "tl/handles.hpp"

namespace tl::autograd {

using handles::api;
using handles::argument_info;
using handles::check;
using handles::fail;
using handles::Pending;
using handles::result_info;
using handles::Tensor;

inline constexpr uint64_t kAutogradBit = uint64_t{1} << TL_LAYER_AUTOGRAD;

// Makes the exception that is being handled the thread's pending error; -1.
inline int pending_from_exception() noexcept { return handles::pending_from_exception_in(" in autograd"); }

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
  explicit GradMode(bool on) : before_(api->grad_enabled()), outermost_(thread_data().program_mode < 0) {
    if (outermost_) thread_data().program_mode = static_cast<int8_t>(before_);
    api->set_grad_enabled(on);
  }
  ~GradMode() {
    api->set_grad_enabled(before_);
    if (outermost_) thread_data().program_mode = -1;
  }
  GradMode(const GradMode&) = delete;

 private:
  int before_;
  bool outermost_;
};

}  // namespace tl::autograd
