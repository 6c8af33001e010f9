// The tables of tl-core and the errors that C++ written for PyTorch throws.
//
// All names are in a hidden inline namespace of the minor version, so that two extensions built with
// different headers share no symbols.
#ifndef TL_TORCH_ERRORS_HPP
#define TL_TORCH_ERRORS_HPP

#include <tl/python.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tl/exceptions.hpp>
#include <tl/python.hpp>  // includes Python.h, before the standard library
#include <type_traits>
#include <utility>

#define TL_FACE_JOIN_(A, B) A##B
#define TL_FACE_JOIN(A, B) TL_FACE_JOIN_(A, B)
#define TL_FACE_TEXT_(A) #A
#define TL_FACE_TEXT(A) TL_FACE_TEXT_(A)
#define TL_FACE_SPACE TL_FACE_JOIN(tl_1_, TL_API_MINOR)
#define TL_FACE_VERSION TL_FACE_TEXT(TL_FACE_SPACE)
#define TL_FACE inline namespace TL_FACE_SPACE __attribute__((visibility("hidden")))

namespace c10 {
TL_FACE {
  using string_view = std::string_view;
  template <class T>
  using optional = std::optional<T>;
  using std::call_once;
  using std::in_place;
  using std::make_optional;
  using std::nullopt;
  using std::nullopt_t;
  using std::once_flag;

  namespace face {
  inline const TlApi* table = nullptr;
  inline const TlPython* bridge = nullptr;
  inline const TlExtension* more = nullptr;

  // The tables of the installed tl-core do not fit this extension.
  class LoadError : public std::exception {
   public:
    explicit LoadError(std::string message) : message_(std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }

   private:
    std::string message_;
  };
  // Clears the exception of Python that is set, and returns its text.
  [[gnu::cold]] inline std::string take_exception() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const ::tl::PyRef owned[] = {::tl::PyRef(type), ::tl::PyRef(value), ::tl::PyRef(trace)};
    const ::tl::PyRef text(value ? PyObject_Str(value) : nullptr);
    const char* const bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    std::string message = bytes ? bytes : "tl-core cannot be imported";
    PyErr_Clear();
    return message;
  }
  // The tables are fetched with the first call: static objects of an extension are constructed before its
  // module.
  [[gnu::cold, gnu::noinline]] inline void load_tables() {
    if (!Py_IsInitialized())
      throw LoadError("extensions for tl run in a process of Python: there is no interpreter");
    ::tl::WithGil gil;
    bridge = tl_import_python();
    more = bridge ? tl_import_extension() : nullptr;
    table = more ? tl_import_api(TL_API_TARGET) : nullptr;
    if (!table) {
      more = nullptr;
      throw LoadError(take_exception());
    }
  }
  inline const TlApi& api() {
    if (__builtin_expect(table == nullptr, 0)) load_tables();
    return *table;
  }
  inline const TlPython& python() { return (void)api(), *bridge; }
  inline const TlExtension& extension() {
    if (__builtin_expect(more == nullptr, 0)) load_tables();
    return *more;
  }
  }  // namespace face

  // An error of PyTorch's C++. `kind` decides the type of the exception in Python.
  class Error : public std::exception {
   public:
    Error(int kind, std::string message) : kind_(kind), message_(std::move(message)) {}
    explicit Error(std::string message) : Error(TL_ERROR_RUNTIME, std::move(message)) {}
    const char* what() const noexcept override { return message_.c_str(); }
    const char* what_without_backtrace() const noexcept { return message_.c_str(); }
    const std::string& msg() const { return message_; }
    int kind() const { return kind_; }

    // Takes over the pending error of this thread, with the exception of Python that travels with it.
    static Error pending() {
      auto& api = face::api();
      Error e(api.error_kind(), api.error_message());
      if (e.kind_ == TL_ERROR_PYTHON) e.carried_ = std::make_shared<Carried>(api.error_take());
      api.error_clear();
      return e;
    }
    // Makes the error this thread's pending error.
    void restore() const {
      if (carried_ && carried_->error)
        return face::api().error_restore(std::exchange(carried_->error, nullptr));
      face::api().error_set(kind_ == TL_ERROR_PYTHON ? TL_ERROR_RUNTIME : kind_, message_.c_str());
    }

   private:
    struct Carried {
      void* error;
      explicit Carried(void* e) : error(e) {}
      Carried(const Carried&) = delete;
      ~Carried() {
        if (error) face::api().error_drop(error);
      }
    };
    int kind_;
    std::string message_;
    std::shared_ptr<Carried> carried_;
  };

#define TL_FACE_ERROR(NAME, KIND)                                           \
  class NAME : public Error {                                               \
   public:                                                                  \
    explicit NAME(std::string message) : Error(KIND, std::move(message)) {} \
  };
  TL_FACE_ERROR(ValueError, TL_ERROR_VALUE)
  TL_FACE_ERROR(TypeError, TL_ERROR_TYPE)
  TL_FACE_ERROR(IndexError, TL_ERROR_INDEX)
  TL_FACE_ERROR(NotImplementedError, TL_ERROR_NOT_IMPLEMENTED)
  TL_FACE_ERROR(LinAlgError, TL_ERROR_LINALG)
  TL_FACE_ERROR(OutOfMemoryError, TL_ERROR_OUT_OF_MEMORY)
  TL_FACE_ERROR(EnforceFiniteError, TL_ERROR_RUNTIME)
#undef TL_FACE_ERROR

  namespace face {
  [[noreturn, gnu::cold, gnu::noinline]] inline void raise() { throw Error::pending(); }
  inline void check(int status) {
    if (__builtin_expect(status != 0, 0)) raise();
  }
  template <class T>
  T* check(T* result) {
    if (__builtin_expect(result == nullptr, 0)) raise();
    return result;
  }

  // Makes the exception of Python that is set the C++ exception that is thrown.
  [[noreturn, gnu::cold, gnu::noinline]] inline void raise_python() {
    python().pending_from_python();
    raise();
  }

  // Makes the exception that is being handled the pending error; -1.
  inline int pending_from_exception() noexcept {
    return ::tl::exceptions::make_pending(api(), "", [] {
      try {
        throw;
      } catch (const Error& e) {
        e.restore();
      }
    });
  }
  // Runs a body where no exception may pass: 0, or -1 with the error pending.
  template <class F>
  int guarded(F&& body) noexcept {
    return ::tl::exceptions::guarded(body, pending_from_exception);
  }

  // A part of a message: a value and the function that writes it. Messages of any parts share one function,
  // so that a check costs an extension few bytes.
  struct Piece {
    void (*write)(std::ostream& out, const void* value);
    const void* value;
    template <class T>
    static void write_value(std::ostream& out, const void* value) {
      out << *static_cast<const T*>(value);
    }
    static void write_text(std::ostream& out, const void* value) { out << static_cast<const char*>(value); }
    template <class T>
    Piece(const T& x) : write(write_value<T>), value(std::addressof(x)) {}
    template <size_t N>
    Piece(const char (&text)[N]) : write(write_text), value(text) {}
  };
  [[gnu::noinline]] inline std::string join(const Piece* pieces, size_t n) {
    std::ostringstream out;
    for (size_t i = 0; i < n; ++i) pieces[i].write(out, pieces[i].value);
    return out.str();
  }
  }  // namespace face

  // The arguments as one text.
  template <class... A>
  std::string str(const A&... a) {
    const face::Piece pieces[] = {a...};
    return face::join(pieces, sizeof...(A));
  }
  inline std::string str(const std::string& s) { return s; }
  inline std::string str(const char* s) { return s; }
  inline std::string str() { return {}; }

  namespace face {
  template <class E>
  [[noreturn, gnu::cold, gnu::noinline]] void fail_with(const char* condition, const Piece* pieces,
                                                        size_t n) {
    std::string message = join(pieces, n);
    throw E(message.empty() ? std::string("Expected ") + condition + " to be true, but got false." : message);
  }
  template <class E, class... A>
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const char* condition, const A&... a) {
    const Piece pieces[] = {a..., ""};
    fail_with<E>(condition, pieces, sizeof...(A));
  }
  template <class... A>
  [[noreturn, gnu::cold, gnu::noinline]] void fail_internal(const char* file, int line, const char* condition,
                                                            const A&... a) {
    fail<Error>("", condition, " INTERNAL ASSERT FAILED at \"", file, "\":", line,
                ", please report a bug to the extension's authors. ", a...);
  }
  inline void warn(const std::string& message, TlWarning category = TL_WARNING_USER) {
    check(extension().warn(category, message.c_str()));
  }
  }  // namespace face

  using Warning = std::string;
}
}  // namespace c10

namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
}

#define TL_FACE_CHECK(ERROR, CONDITION, ...)             \
  if (__builtin_expect(!(CONDITION), 0)) {               \
    ::c10::face::fail<ERROR>(#CONDITION, ##__VA_ARGS__); \
  }
#define TORCH_CHECK(CONDITION, ...) TL_FACE_CHECK(::c10::Error, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_WITH(ERROR, CONDITION, ...) TL_FACE_CHECK(::c10::ERROR, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_WITH_MSG(ERROR, CONDITION, TYPE, ...) \
  TL_FACE_CHECK(::c10::ERROR, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(CONDITION, ...) TL_FACE_CHECK(::c10::IndexError, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(CONDITION, ...) TL_FACE_CHECK(::c10::ValueError, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(CONDITION, ...) TL_FACE_CHECK(::c10::TypeError, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(CONDITION, ...) TL_FACE_CHECK(::c10::LinAlgError, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(CONDITION, ...) \
  TL_FACE_CHECK(::c10::NotImplementedError, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_ARG(CONDITION, POSITION, ...) \
  TORCH_CHECK(CONDITION, "invalid argument ", POSITION, ": ", ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(CONDITION, ...)                                  \
  if (__builtin_expect(!(CONDITION), 0)) {                                     \
    ::c10::face::fail_internal(__FILE__, __LINE__, #CONDITION, ##__VA_ARGS__); \
  }
#ifdef NDEBUG
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) ((void)0)
#else
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_INTERNAL_ASSERT
#endif
#define TL_FACE_COMPARE(A, B, OP) \
  TORCH_CHECK((A)OP(B), "Check failed: " #A " " #OP " " #B " (", (A), " vs. ", (B), "). ")
#define TORCH_CHECK_EQ(A, B) TL_FACE_COMPARE(A, B, ==)
#define TORCH_CHECK_NE(A, B) TL_FACE_COMPARE(A, B, !=)
#define TORCH_CHECK_LE(A, B) TL_FACE_COMPARE(A, B, <=)
#define TORCH_CHECK_LT(A, B) TL_FACE_COMPARE(A, B, <)
#define TORCH_CHECK_GE(A, B) TL_FACE_COMPARE(A, B, >=)
#define TORCH_CHECK_GT(A, B) TL_FACE_COMPARE(A, B, >)
#define AT_ASSERT(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ASSERTM(CONDITION, ...) TORCH_CHECK(bool(CONDITION), ##__VA_ARGS__)
#define AT_CHECK TORCH_CHECK
#define AT_ERROR(...) ::c10::face::fail<::c10::Error>("this", ##__VA_ARGS__)
#define TORCH_WARN(...) ::c10::face::warn(::c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...)                                                                           \
  do {                                                                                                 \
    [[maybe_unused]] static const bool tl_warned = (::c10::face::warn(::c10::str(__VA_ARGS__)), true); \
  } while (false)
#define TORCH_WARN_DEPRECATION(...) ::c10::face::warn(::c10::str(__VA_ARGS__), TL_WARNING_DEPRECATION)
#define AT_WARN TORCH_WARN

#define TORCH_API
#define TORCH_EXPORT __attribute__((visibility("default")))
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define C10_API
#define C10_EXPORT __attribute__((visibility("default")))
#define C10_IMPORT __attribute__((visibility("default")))
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_UNUSED [[maybe_unused]]
#define C10_NODISCARD [[nodiscard]]
#define C10_NOINLINE __attribute__((noinline))
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_RESTRICT __restrict
#define C10_LIKELY(x) __builtin_expect(static_cast<bool>(x), 1)
#define C10_UNLIKELY(x) __builtin_expect(static_cast<bool>(x), 0)
#define C10_HOST_DEVICE
#define C10_HOST
#define C10_DEVICE
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_ANONYMOUS_VARIABLE(text) C10_CONCATENATE(text, __COUNTER__)
#define C10_UID __COUNTER__
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_LOG_API_USAGE_ONCE(...) ((void)0)
// The libraries with which tl-core is built: none of PyTorch's.
#define AT_MKL_ENABLED() 0
#define AT_MKL_SEQUENTIAL() 0
#define AT_MKLDNN_ENABLED() 0
#define AT_POCKETFFT_ENABLED() 0
#define AT_BUILD_WITH_BLAS() 0
#define AT_BUILD_WITH_LAPACK() 0
#define AT_PARALLEL_OPENMP 0
#define AT_PARALLEL_NATIVE 1
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 7
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.7.0"
#define C10_DISABLE_COPY_AND_ASSIGN(NAME) \
  NAME(const NAME&) = delete;             \
  NAME& operator=(const NAME&) = delete

#endif  // TL_TORCH_ERRORS_HPP
