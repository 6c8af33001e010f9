// Calls of operators: PyTorch's names are resolved once, words become values, results become words.
#include "stable_abi/operators.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "tl/python.hpp"

namespace tl::stable {

Ref checked(PyObject* owned) {
  if (!owned) throw_python();
  return Ref(owned);
}

void throw_python() {
  python().pending_from_python();
  throw_pending();
}

Ref python_function(const char* name) {
  const Ref module = checked(import_module("tl_core.extensions.stable_registrations"));
  return checked(PyObject_GetAttrString(module.get(), name));
}

namespace {
// ---- names ------------------------------------------------------------------------------------------------
using Name = std::pair<std::string, std::string>;

// ((kind, optional, name), …), whose texts live as long as the process.
std::vector<Slot> slots_of(PyObject* tuple) {
  std::vector<Slot> slots;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    int kind, optional;
    PyObject* name;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "ipU", &kind, &optional, &name)) throw_python();
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw_python();
    slots.push_back({static_cast<uint8_t>(kind), optional != 0, strdup(text)});
  }
  return slots;
}

std::unique_ptr<Target> resolve(const Name& name) {
  const Gil lock;
  const Ref function = python_function("resolve");
  const Ref answer =
      checked(PyObject_CallFunction(function.get(), "ss", name.first.c_str(), name.second.c_str()));
  PyObject *native, *callable, *args, *rets;
  auto target = std::make_unique<Target>();
  if (!PyArg_ParseTuple(answer.get(), "OOO!O!i", &native, &callable, &PyTuple_Type, &args, &PyTuple_Type,
                        &rets, &target->n_positional))
    throw_python();
  target->args = slots_of(args);
  target->rets = slots_of(rets);
  target->callable = Py_NewRef(callable);
  if (native == Py_None) return target;
  const char* text = PyUnicode_AsUTF8(native);
  if (!text) throw_python();
  target->native = check(api().op_find(text));
  return target;
}

class Targets {
 public:
  const Target& get(const char* name, const char* overload) {
    Name key(name, overload ? overload : "");
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = all_.find(key); it != all_.end()) return *it->second;
    }
    auto target = resolve(key);
    const std::lock_guard lock(mutex_);
    return *all_.emplace(std::move(key), std::move(target)).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::map<Name, std::unique_ptr<Target>> all_;
};

// The last names of a thread: extensions pass the same literals again and again.
struct Recent {
  const char *name = nullptr, *overload = nullptr;
  const Target* target = nullptr;
  Name text;

  bool is(const char* n, const char* o) const {
    return name == n && overload == o && text.first == n && text.second == o;
  }
};

// ---- calls ------------------------------------------------------------------------------------------------
constexpr int kMaxRets = 16;

// The words belong to the arena from here on, also where one of them is wrong.
void take_all(Arena& arena, const Target& t, const Word* stack, TlValue* args) {
  const size_t n = t.args.size();
  size_t i = 0;
  try {
    for (; i < n; ++i) args[i] = arena.take(stack[i], t.args[i]);
  } catch (...) {
    while (++i < n) release_word(stack[i], t.args[i]);
    throw;
  }
}

void call_native(const Target& t, Word* stack) {
  Arena arena;
  TlValue args[64];
  const int n = static_cast<int>(t.args.size()), m = static_cast<int>(t.rets.size());
  take_all(arena, t, stack, args);
  TlValue rets[kMaxRets];
  for (int i = 0; i < m; ++i) rets[i] = tagged(TL_NONE);
  check(api().op_call(t.native, args, n, rets, m));
  for (int i = 0; i < m; ++i) {
    const Slot& slot = t.rets[static_cast<size_t>(i)];
    if (rets[i].tag == TL_TENSOR && !slot.optional) {  // the share passes on
      stack[i] = static_cast<Word>(reinterpret_cast<uintptr_t>(handle_of(rets[i].u.t)));
      continue;
    }
    stack[i] = word_of(rets[i], slot);
    api().value_release(&rets[i]);
  }
}

Ref object_of(Arena& arena, Word word, const Slot& slot) {
  const TlValue borrowed = arena.take(word, slot);
  TlValue owned = tagged(TL_NONE);
  check(api().value_own(&borrowed, &owned));
  return checked(python().from_value(&owned));
}

Word word_of_object(PyObject* object, const Slot& slot) {
  TlValue value = tagged(TL_NONE);
  void* scratch = nullptr;
  if (object != Py_None && python().to_value(object, slot.kind, &value, &scratch) != 0) throw_python();
  const Word word = word_of(value, slot);
  if (scratch) python().scratch_free(scratch);
  return word;
}

void call_in_python(const Target& t, Word* stack) {
  const Gil lock;
  Arena arena;
  const auto n = static_cast<Py_ssize_t>(t.args.size());
  const Ref args = checked(PyTuple_New(t.n_positional)), keywords = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Slot& slot = t.args[static_cast<size_t>(i)];
    Ref object = object_of(arena, stack[i], slot);
    if (i < t.n_positional)
      PyTuple_SET_ITEM(args.get(), i, object.release());
    else if (PyDict_SetItemString(keywords.get(), slot.name, object.get()) != 0)
      throw_python();
  }
  const Ref result = checked(PyObject_Call(t.callable, args.get(), keywords.get()));
  const auto m = static_cast<Py_ssize_t>(t.rets.size());
  if (m == 1) stack[0] = word_of_object(result.get(), t.rets[0]);
  for (Py_ssize_t i = 0; m > 1 && i < m; ++i) {
    const Ref item = checked(PySequence_GetItem(result.get(), i));
    stack[i] = word_of_object(item.get(), t.rets[static_cast<size_t>(i)]);
  }
}
}  // namespace

const Target& target(const char* name, const char* overload) {
  static Targets targets;
  constexpr size_t kRecent = 16;
  static thread_local Recent recent[kRecent];
  if (!overload) overload = "";
  Recent& r = recent[reinterpret_cast<uintptr_t>(name) / 8 % kRecent];
  if (r.is(name, overload)) return *r.target;
  const Target& found = targets.get(name, overload);
  r = {name, overload, &found, {name, overload}};
  return found;
}

void call_core(const char* name, std::initializer_list<TlValue> args,
               std::initializer_list<Handle*> results) {
  const TlOperator* op = check(api().op_find(name));
  const TlOperatorInfo* info = api().op_info(op);
  TlValue rets[kMaxRets];
  const int m = info->n_rets;
  for (int i = 0; i < m; ++i) rets[i] = tagged(TL_NONE);
  check(api().op_call(op, args.begin(), static_cast<int>(args.size()), rets, m));
  int i = 0;
  for (Handle* result : results) {
    if (!result) continue;
    *result = rets[i].tag == TL_TENSOR ? handle_of(rets[i].u.t) : undefined_handle();
    rets[i++] = tagged(TL_NONE);
  }
  for (; i < m; ++i) api().value_release(&rets[i]);
}

}  // namespace tl::stable

using namespace tl::stable;

TL_STABLE Status torch_call_dispatcher(const char* name, const char* overload, Word* stack, uint64_t) {
  return attempt([&] {
    const Target& t = target(name, overload);
    if (t.native)
      call_native(t, stack);
    else
      call_in_python(t, stack);
  });
}
TL_STABLE Status aoti_torch_call_dispatcher(const char* name, const char* overload, Word* stack) {
  return torch_call_dispatcher(name, overload, stack, 0);
}
