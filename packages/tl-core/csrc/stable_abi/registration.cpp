// Operators and kernels that an extension registers: what they are called goes to Python, which keeps all
// registrations; the kernel itself is called without Python.
#include <atomic>
#include <memory>

#include "stable_abi/operators.h"

namespace tl::stable {

namespace {
using Boxed = void (*)(Word* stack, uint64_t n_args, uint64_t n_rets);

struct Library {
  std::string space, kind, key;
};

// A kernel of an extension. Its operator may be defined later, and is looked up by the first call.
struct Kernel {
  Boxed function;
  std::string name;  // of the operator
  std::atomic<const TlOperatorInfo*> info{nullptr};
  TlLayerEntry entry{};

  const TlOperatorInfo& operator_info() {
    const TlOperatorInfo* found = info.load(std::memory_order_acquire);
    if (!found) {
      found = api().op_info(check(api().op_find(name.c_str())));
      info.store(found, std::memory_order_release);
    }
    return *found;
  }
};

Slot slot_of(const TlArgInfo& info) { return {info.kind, info.optional != 0, info.name}; }

// ---- the call ---------------------------------------------------------------------------------------------
constexpr int64_t kReleaseAbove = 4096;  // elements; the lock costs less than work on that many

// Lets other threads of Python run while this one works in the kernel.
class WithoutGil {
 public:
  explicit WithoutGil(const TlValue* args, int n) {
    int64_t elements = 0;
    for (int i = 0; i < n; ++i)
      if (args[i].tag == TL_TENSOR) elements += api().tensor_numel(args[i].u.t);
    if (elements > kReleaseAbove && PyGILState_Check()) saved_ = PyEval_SaveThread();
  }
  WithoutGil(const WithoutGil&) = delete;
  ~WithoutGil() {
    if (saved_) PyEval_RestoreThread(saved_);
  }

 private:
  PyThreadState* saved_ = nullptr;
};

void count_writes(const TlOperatorInfo& info, const TlValue* args, int n) {
  if (info.variant != TL_FUNCTIONAL) return;  // the caller counts
  for (int i = 0; i < n; ++i) {
    if (!argument_info(info, i).written) continue;
    if (args[i].tag == TL_TENSOR) api().tensor_bump_version(args[i].u.t);
    for (uint32_t k = 0; args[i].tag == TL_TENSOR_LIST && k < args[i].len; ++k)
      if (TlTensor* t = static_cast<TlTensor* const*>(args[i].u.p)[k]) api().tensor_bump_version(t);
  }
}

void take_results(const TlOperatorInfo& info, const Word* stack, TlValue* rets, int m) {
  Arena arena;
  TlValue borrowed[16];
  for (int i = 0; i < m; ++i) borrowed[i] = arena.take(stack[i], slot_of(result_info(info, i)));
  for (int i = 0; i < m; ++i) {
    rets[i] = tagged(TL_NONE);
    check(api().value_own(&borrowed[i], &rets[i]));
  }
}

void fill_stack(const TlOperatorInfo& info, const TlValue* args, int n, Word* stack) {
  int i = 0;
  try {
    for (; i < n; ++i) stack[i] = word_of(args[i], slot_of(argument_info(info, i)));
  } catch (...) {
    while (--i >= 0) release_word(stack[i], slot_of(argument_info(info, i)));
    throw;
  }
}

void run(Kernel& kernel, const TlValue* args, int n, TlValue* rets, int m) {
  const TlOperatorInfo& info = kernel.operator_info();
  Word stack[80];
  fill_stack(info, args, n, stack);
  forget_failure();
  {
    const WithoutGil others_run(args, n);
    kernel.function(stack, static_cast<uint64_t>(n), static_cast<uint64_t>(m));
  }
  count_writes(info, args, n);
  take_results(info, stack, rets, m);
}

// What an extension throws after one of the functions here has failed is a text about the C function: the
// reason belongs to it.
void report(const char* what) {
  Failure& f = last_failure();
  if (f.error) {
    api().error_restore(std::exchange(f.error, nullptr));
    return;
  }
  std::string text = what;
  if (!f.what.empty() && text.find(f.what) == std::string::npos &&
      text.find("API call failed") != std::string::npos)
    text += ": " + f.what;
  api().error_set(TL_ERROR_RUNTIME, text.c_str());
}

int call_kernel(void* ctx, const TlValue* args, int n, TlValue* rets, int m) noexcept {
  try {
    run(*static_cast<Kernel*>(ctx), args, n, rets, m);
    return 0;
  } catch (const std::exception& e) {
    report(e.what());
  } catch (...) {
    report("an exception of unknown type was thrown");
  }
  return -1;
}

// ---- registration -----------------------------------------------------------------------------------------
// Libraries register while they are loaded, by constructors that may not throw: Python keeps what failed, and
// `load_library` raises it.
template <class... A>
void tell_python(const char* function, const char* format, A... arguments) {
  const Gil lock;
  const Ref f = python_function(function);
  (void)checked(PyObject_CallFunction(f.get(), format, arguments...));
}

void define(const Library& library, const char* schema, const int32_t* tags, int32_t n_tags) {
  const Gil lock;
  const Ref numbers = checked(PyTuple_New(n_tags));
  for (int32_t i = 0; i < n_tags; ++i)
    PyTuple_SET_ITEM(numbers.get(), i, checked(PyLong_FromLong(tags[i])).release());
  tell_python("define", "sssO", library.space.c_str(), library.kind.c_str(), schema, numbers.get());
}

void implement(const Library& library, const char* name, Boxed function) {
  std::string full = name;
  if (full.find("::") == std::string::npos) full = library.space + "::" + full;
  auto* kernel = new Kernel{function, full};  // operators live as long as the process
  kernel->entry = {call_kernel, kernel};
  const Gil lock;
  const Ref capsule = checked(PyCapsule_New(&kernel->entry, TL_KERNEL_CAPSULE, nullptr));
  const Ref f = python_function("implement");
  const Ref native = checked(PyObject_CallFunction(f.get(), "sssO", library.space.c_str(), full.c_str(),
                                                   library.key.c_str(), capsule.get()));
  const char* text = PyUnicode_AsUTF8(native.get());
  if (!text) throw_python();
  kernel->name = text;
}

Status begin(Library** ret, const char* space, const char* kind, const char* key) {
  return attempt([&] {
    auto library = std::make_unique<Library>(Library{space, kind, key ? key : ""});
    tell_python("begin", "sss", space, kind, library->key.c_str());
    *ret = library.release();
  });
}
}  // namespace

}  // namespace tl::stable

using namespace tl::stable;

TL_STABLE Status aoti_torch_library_init_def(const char* space, const char*, uint32_t, Library** ret) {
  return begin(ret, space, "DEF", nullptr);
}
TL_STABLE Status aoti_torch_library_init_fragment(const char* space, const char*, uint32_t, Library** ret) {
  return begin(ret, space, "FRAGMENT", nullptr);
}
TL_STABLE Status aoti_torch_library_init_impl(const char* space, const char* key, const char*, uint32_t,
                                              Library** ret) {
  return begin(ret, space, "IMPL", key);
}
// What a library has registered stays: its code is never unloaded.
TL_STABLE Status aoti_torch_delete_library_object(Library* library) {
  delete library;
  return 0;
}

TL_STABLE Status torch_library_def_with_tags(Library* self, const char* schema, const int32_t* tags,
                                             int32_t n_tags) {
  return attempt([&] { define(*self, schema, tags, n_tags); });
}
TL_STABLE Status aoti_torch_library_def(Library* self, const char* schema) {
  return torch_library_def_with_tags(self, schema, nullptr, 0);
}

TL_STABLE Status torch_library_impl(Library* self, const char* name, Boxed function, uint64_t) {
  return attempt([&] { implement(*self, name, function); });
}
TL_STABLE Status aoti_torch_library_impl(Library* self, const char* name, Boxed function) {
  return torch_library_impl(self, name, function, 0);
}

TL_STABLE Status torch_library_set_python_module(Library* self, const char* module, const char* context) {
  return attempt(
      [&] { tell_python("set_python_module", "sss", self->space.c_str(), module, context ? context : ""); });
}
