// Threads, modes, warnings and devices, and the functions for which tl has nothing: each fails with its name.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "stable_abi/operators.h"

namespace tl::stable {

namespace {
// ---- threads ----------------------------------------------------------------------------------------------
// A chunk for each thread at most: extensions number memory for each thread by the index of the chunk.
thread_local uint32_t t_index = 0;

using Body = void (*)(int64_t begin, int64_t end, void* ctx);
struct Region {
  Body body;
  void* ctx;
  int64_t begin, chunk;
};

void run_chunk(void* p, int64_t begin, int64_t end) {
  const Region& r = *static_cast<const Region*>(p);
  const uint32_t outer = t_index;
  t_index = static_cast<uint32_t>((begin - r.begin) / r.chunk);
  try {
    r.body(begin, end, r.ctx);
  } catch (const std::exception& e) {
    api().error_set(TL_ERROR_RUNTIME, e.what());
  } catch (...) {
    api().error_set(TL_ERROR_RUNTIME, "an exception of unknown type was thrown");
  }
  t_index = outer;
}

void run_parallel(int64_t begin, int64_t end, int64_t grain, Body body, void* ctx) {
  if (begin >= end) return;
  const int64_t threads = api().num_threads(), n = end - begin;
  const int64_t share = (n + threads - 1) / threads;
  Region region{body, ctx, begin, share > grain ? share : (grain > 0 ? grain : 1)};
  check(api().parallel_for(begin, end, region.chunk, run_chunk, &region));
}

// ---- devices ----------------------------------------------------------------------------------------------
struct DeviceName {
  const char* name;
  uint32_t type;
};
constexpr DeviceName kDevices[] = {{"cpu", 0},  {"cuda", 1},  {"xpu", 12},
                                   {"mps", 13}, {"meta", 14}, {"privateuseone", 20}};

void parse_device(const std::string& text, uint32_t* type, int32_t* index) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  *index = -1;
  if (colon != std::string::npos) {
    char* end = nullptr;
    const long number = std::strtol(text.c_str() + colon + 1, &end, 10);
    if (end == text.c_str() + colon + 1 || *end || number < 0 || number > 0x7fff)
      fail("Invalid device string: '" + text + "'");
    *index = static_cast<int32_t>(number);
  }
  for (const DeviceName& d : kDevices)
    if (name == d.name) {
      *type = d.type;
      return;
    }
  fail("Expected one of cpu, cuda, xpu, mps, meta, privateuseone device type at start of device string: " +
       text);
}

Status missing(const char* function, const char* reason) {
  return keep_failure((std::string(function) + ": " + reason).c_str());
}

void warn(const char* function, const char* message) {
  const Gil lock;
  PyObject *type, *value, *trace;  // a warning may meet an exception that is being handled
  PyErr_Fetch(&type, &value, &trace);
  if (PyErr_WarnEx(PyExc_UserWarning, message, 1) != 0) PyErr_WriteUnraisable(Py_None);
  PyErr_Restore(type, value, trace);
  (void)function;
}

void print(Handle h, const char* message) {
  const Gil lock;
  TlTensor* t = tensor_of(h);
  api().tensor_retain(t);
  const Ref object = checked(python().wrap(t)), shown = checked(PyObject_Str(object.get()));
  const char* text = PyUnicode_AsUTF8(shown.get());
  if (!text) throw_python();
  std::printf("[%s]: %s\n", message, text);
}

void set_requires_grad(Handle h, bool on) {
  const Gil lock;
  TlTensor* t = tensor_of(h);
  api().tensor_retain(t);
  const Ref object = checked(python().wrap(t));
  if (PyObject_SetAttrString(object.get(), "requires_grad", on ? Py_True : Py_False) != 0) throw_python();
}
}  // namespace

}  // namespace tl::stable

using namespace tl::stable;

TL_STABLE Status torch_parallel_for(int64_t begin, int64_t end, int64_t grain, Body body, void* ctx) {
  return attempt([&] { run_parallel(begin, end, grain, body, ctx); });
}
TL_STABLE Status torch_get_thread_idx(uint32_t* ret) {
  *ret = t_index;
  return 0;
}
TL_STABLE Status torch_get_num_threads(uint32_t* ret) {
  *ret = static_cast<uint32_t>(api().num_threads());
  return 0;
}

TL_STABLE bool aoti_torch_grad_mode_is_enabled() { return api().grad_enabled() != 0; }
TL_STABLE void aoti_torch_grad_mode_set_enabled(bool on) { api().set_grad_enabled(on); }
TL_STABLE Status torch_set_requires_grad(Handle h, bool on) {
  return attempt([&] { set_requires_grad(h, on); });
}

TL_STABLE void aoti_torch_warn(const char* function, const char*, uint32_t, const char* message) {
  warn(function, message);
}
// Ends what the extension does, as it is the condition of it: the caller catches.
TL_STABLE void aoti_torch_check(bool condition, const char*, const char*, uint32_t, const char* message) {
  if (!condition) throw std::runtime_error(message);
}
TL_STABLE void aoti_torch_print_tensor_handle(Handle h, const char* message) {
  if (attempt([&] { print(h, message); }) != 0)
    std::printf("[%s]: %s\n", message, last_failure().what.c_str());
}
TL_STABLE void aoti_torch_save_tensor_handle(Handle, const char* name, const char*, const char*) {
  warn("", (std::string("aoti_torch_save_tensor_handle: tl does not save '") + name + "'").c_str());
}

TL_STABLE Status torch_parse_device_string(const char* text, uint32_t* type, int32_t* index) {
  return attempt([&] { parse_device(text, type, index); });
}

// Loads an extension with the interpreter's lock held: its constructors register, and need it. The text of
// the error, or NULL.
TL_STABLE const char* tl_stable_abi_open(const char* path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL) ? nullptr : dlerror();
}

// ---- what tl has not --------------------------------------------------------------------------------------
// C functions of any arguments: who calls them leaves all that it passed to its own care.

#define MISSING(name, reason)                                \
  TL_STABLE Status name() { return missing(#name, reason); } \
  static_assert(true, "a semicolon follows")

// CUDA's own.
#define NO_CUDA(name) MISSING(name, "tl has no CUDA device")
NO_CUDA(aoti_torch_create_cuda_guard);
NO_CUDA(aoti_torch_delete_cuda_guard);
NO_CUDA(aoti_torch_cuda_guard_set_index);
NO_CUDA(aoti_torch_create_cuda_stream_guard);
NO_CUDA(aoti_torch_delete_cuda_stream_guard);
NO_CUDA(aoti_torch_get_current_cuda_stream);
NO_CUDA(aoti_torch_cuda_caching_allocator_raw_alloc);
NO_CUDA(aoti_torch_cuda_caching_allocator_raw_delete);
NO_CUDA(torch_get_current_cuda_blas_handle);
NO_CUDA(torch_set_current_cuda_stream);
NO_CUDA(torch_get_cuda_stream_from_pool);
NO_CUDA(torch_cuda_stream_synchronize);

#define NO_ACCELERATOR(name) MISSING(name, "tl has no accelerator with a current device or streams")
NO_ACCELERATOR(aoti_torch_create_device_guard);
NO_ACCELERATOR(aoti_torch_device_guard_set_index);
NO_ACCELERATOR(aoti_torch_delete_device_guard);
NO_ACCELERATOR(aoti_torch_get_current_device_index);
NO_ACCELERATOR(aoti_torch_get_current_stream);
NO_ACCELERATOR(aoti_torch_delete_stream);
NO_ACCELERATOR(aoti_torch_stream_id);
NO_ACCELERATOR(torch_stream_native_handle);

#define NO_IVALUE(name) MISSING(name, "tl does not pass the values of compiled models")
NO_IVALUE(aoti_torch_int64_to_ivalue);
NO_IVALUE(aoti_torch_strlist_to_ivalue);
NO_IVALUE(aoti_torch_str_to_ivalue);
NO_IVALUE(aoti_torch_tensor_to_ivalue);
NO_IVALUE(aoti_torch_delete_c10_value_object);
NO_IVALUE(aoti_record_function_start);
NO_IVALUE(aoti_record_function_end);
NO_IVALUE(aoti_torch_proxy_executor_call_function);

#define NO_OPERATOR(name) MISSING(name, "tl has no such operator")
NO_OPERATOR(aoti_torch_cpu_wrapped_fbgemm_pack_gemm_matrix_fp16);
NO_OPERATOR(aoti_torch_cpu_wrapped_fbgemm_linear_fp16_weight);
NO_OPERATOR(aoti_torch_cpu__wrapped_linear_prepack);
NO_OPERATOR(aoti_torch_cpu__wrapped_quantized_linear_prepacked);
NO_OPERATOR(aoti_torch__scaled_mm);
NO_OPERATOR(aoti_torch__scaled_mm_v2);
NO_OPERATOR(aoti_torch__scaled_dot_product_flash_attention);
NO_OPERATOR(aoti_torch__scaled_dot_product_flash_attention_v2);
NO_OPERATOR(aoti_torch__scaled_dot_product_efficient_attention);
MISSING(aoti_torch_empty_strided_pinned, "tl has no pinned memory");

TL_STABLE Status torch_c10_cuda_check_msg(int32_t error, const char*, const char*, uint32_t, bool,
                                          char** message) {
  const std::string text = "CUDA error " + std::to_string(error) + ": tl has no CUDA device";
  *message = error ? strdup(text.c_str()) : nullptr;
  return 0;
}
TL_STABLE void torch_c10_cuda_free_error_msg(char* message) { std::free(message); }
