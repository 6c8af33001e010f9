// Owned handles, and errors as exceptions inside a library, over the table of tl/c_api.h. Without Python.
//
// A library includes this header in one of its own, takes the names into its namespace and sets `api` when it
// is loaded. `tl/tl.hpp` has the interface for extensions, with Python.
#ifndef TL_HANDLES_HPP
#define TL_HANDLES_HPP

#include <tl/c_api.h>
#include <tl/extension.h>

#include <string>
#include <tl/exceptions.hpp>
#include <utility>

namespace tl::handles {

inline const TlApi* api = nullptr;
inline const TlExtension* extension = nullptr;  // only libraries that read arguments of operators set it

// Argument or result i of an operator, whose descriptions may be longer in a newer core.
inline const TlArgInfo& argument_info(const TlOperatorInfo& info, int i) {
  return *tl_argument(extension, info.args, i);
}
inline const TlArgInfo& result_info(const TlOperatorInfo& info, int i) {
  return *tl_argument(extension, info.rets, i);
}

// Thrown after an error became pending on this thread.
struct Pending {};

inline void check(int status) {
  if (status != 0) [[unlikely]]
    throw Pending();
}

[[noreturn, gnu::cold]] inline void fail(int kind, const std::string& message) {
  api->error_set(kind, message.c_str());
  throw Pending();
}

// Makes the exception that is being handled the thread's pending error; -1. Some messages end with the part
// of the program, such as " in autograd".
inline int pending_from_exception_in(const char* part) noexcept {
  return exceptions::make_pending(*api, part, [] {
    try {
      throw;
    } catch (const Pending&) {
    }
  });
}

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

}  // namespace tl::handles

#endif  // TL_HANDLES_HPP
