// Handles of tensors, the tables of functions, and the last failure of a thread.
#include "stable_abi/handles.h"

#include <cstring>

namespace tl::stable {

namespace {
const TlApi* g_api = nullptr;
const TlPython* g_python = nullptr;
const TlExtension* g_extension = nullptr;
}  // namespace

const TlApi& api() { return *g_api; }
const TlPython& python() { return *g_python; }
const TlExtension& extension() { return *g_extension; }

TlTensor* tensor_of(Handle h) {
  TlTensor* t = tensor_or_null(h);
  if (!t) fail("Expected a proper Tensor but got None (or an undefined Tensor in C++)");
  return t;
}

Handle undefined_handle() { return reinterpret_cast<Handle>(reinterpret_cast<uintptr_t>(new Box) | 1); }

Handle shared_handle(TlTensor* borrowed) {
  if (!borrowed) return undefined_handle();
  api().tensor_retain(borrowed);
  return handle_of(borrowed);
}

void release_handle(Handle h) {
  Box* box = box_of(h);
  api().tensor_release(tensor_or_null(h));
  delete box;
}

Failure& last_failure() {
  static thread_local Failure failure;
  return failure;
}

void forget_failure() {
  Failure& f = last_failure();
  f.what.clear();
  if (f.error) api().error_drop(f.error);
  f.error = nullptr;
}

Status keep_failure(const char* what) noexcept {
  try {
    last_failure().what = what;
  } catch (const std::bad_alloc&) {
    last_failure().what.clear();
  }
  return 1;
}

void throw_pending() {
  const int kind = api().error_kind();
  std::string text = api().error_message();
  if (kind == TL_ERROR_PYTHON || kind == TL_ERROR_INTERRUPT) {
    forget_failure();
    last_failure().error = api().error_take();
  } else {
    api().error_clear();
  }
  throw std::runtime_error(text.empty() ? "the operator failed" : text);
}

void fail(const std::string& text) { throw std::runtime_error(text); }

}  // namespace tl::stable

using namespace tl::stable;

// Called once, before any other function here. 0, or -1 with a Python exception.
TL_STABLE int tl_stable_abi_start(void) {
  g_python = tl_import_python();
  g_api = g_python ? tl_import_api(TL_API_TARGET) : nullptr;
  g_extension = g_api ? tl_import_extension() : nullptr;
  return g_extension ? 0 : -1;
}

TL_STABLE const char* torch_exception_get_what() { return last_failure().what.c_str(); }
TL_STABLE const char* torch_exception_get_what_without_backtrace() { return last_failure().what.c_str(); }
