// Copies of calls, with gaps where the tensors were.
#include "replay/native_call.h"

#include "replay/bridge.h"
#include "tl/python.hpp"

namespace tl::compiler {

// ---- a call -------------------------------------------------------------------------------------------------

namespace {
bool is_plain(uint32_t tag) { return tag <= TL_STRING || (tag >= TL_BOOL_LIST && tag <= TL_STRING_LIST); }
TlTensor* const* tensors_of(const TlValue& list) { return static_cast<TlTensor* const*>(list.u.p); }
}  // namespace

std::unique_ptr<NativeCall> NativeCall::of(const TlOperator* op, const TlValue* args) {
  const TlOperatorInfo& info = *api->op_info(op);
  if (info.n_args > kMostArgs || info.n_rets > kMostResults) return nullptr;
  std::unique_ptr<NativeCall> call(new NativeCall());
  call->op_ = op;
  call->n_results_ = info.n_rets;
  for (int i = 0; i < info.n_args; ++i)
    if (!call->add(args[i])) return nullptr;
  call->n_tensors_ = call->tensors_.size();
  return call->n_tensors_ <= kMostTensors ? std::move(call) : nullptr;
}

NativeCall::~NativeCall() {
  drop_tensors();
  for (TlValue& value : args_) api->value_release(&value);
}

void NativeCall::drop_tensors() {
  for (TlTensor* t : std::exchange(tensors_, {})) api->tensor_release(t);
}

void NativeCall::add_tensor(TlTensor* t) {
  api->tensor_retain(t);
  tensors_.push_back(t);
}

bool NativeCall::add(const TlValue& value) {
  TlValue copy{};
  if (value.tag == TL_TENSOR) {
    if (!value.u.t) return false;
    add_tensor(value.u.t);
    copy.tag = TL_TENSOR;
  } else if (value.tag == TL_TENSOR_LIST) {
    List list{static_cast<int>(args_.size()), {}};
    for (uint32_t i = 0; i < value.len; ++i) {
      TlTensor* const t = tensors_of(value)[i];
      list.is_there.push_back(t != nullptr);
      if (t) add_tensor(t);
    }
    if (value.len > kMostTensors) return false;
    lists_.push_back(std::move(list));
  } else if (!is_plain(value.tag)) {
    return false;
  } else if (api->value_own(&value, &copy) != 0) {
    throw Pending();
  }
  args_.push_back(copy);
  return true;
}

bool NativeCall::run(TlTensor* const* tensors, TlValue* results) const {
  if (!lists_.empty()) return run_with_lists(tensors, results);
  TlValue args[kMostArgs];
  TlValue* end = args;
  for (const TlValue& value : args_) {
    *end = value;
    if (value.tag == TL_TENSOR) end->u.t = *tensors++;
    ++end;
  }
  return python_calls->call(op_, args, results) == 0;
}

std::vector<TlValue> NativeCall::arguments(TlTensor* const* tensors) const {
  if (!lists_.empty()) return {};
  std::vector<TlValue> args(args_);
  for (TlValue& value : args)
    if (value.tag == TL_TENSOR) value.u.t = *tensors++;
  return args;
}

bool NativeCall::run_with_lists(TlTensor* const* tensors, TlValue* results) const {
  TlValue args[kMostArgs];
  TlTensor* in_lists[kMostTensors];
  size_t at = 0, list = 0, n_in_lists = 0;
  for (size_t i = 0; i < args_.size(); ++i) {
    args[i] = args_[i];
    if (args[i].tag == TL_TENSOR) args[i].u.t = tensors[at++];
    if (list == lists_.size() || lists_[list].arg != static_cast<int>(i)) continue;
    const std::vector<bool>& is_there = lists_[list++].is_there;
    args[i] = {TL_TENSOR_LIST, static_cast<uint32_t>(is_there.size()), {}};
    args[i].u.p = in_lists + n_in_lists;
    for (const bool there : is_there) in_lists[n_in_lists++] = there ? tensors[at++] : nullptr;
  }
  return python_calls->call(op_, args, results) == 0;
}

// ---- recording ----------------------------------------------------------------------------------------------

namespace {
constexpr const char* kCapsule = "tl_compiler._C.native_call";

// The calls of a thread since the last `take_call`. Only the first is kept.
struct Seen {
  int calls = 0;
  std::unique_ptr<NativeCall> call;
  std::vector<TlTensor*> results;

  void clear() {
    calls = 0;
    call.reset();
    for (TlTensor* t : std::exchange(results, {})) api->tensor_release(t);
  }
  void keep(TlTensor* t) {
    api->tensor_retain(t);
    results.push_back(t);
  }
};
thread_local Seen t_seen;

// Only calls whose results are all tensors can be repeated.
bool keep_result(const TlValue& value) {
  if (value.tag == TL_TENSOR && value.u.t) {
    t_seen.keep(value.u.t);
    return true;
  }
  if (value.tag != TL_TENSOR_LIST) return false;
  for (uint32_t i = 0; i < value.len; ++i) {
    if (!tensors_of(value)[i]) return false;
    t_seen.keep(tensors_of(value)[i]);
  }
  return true;
}

void see(void*, const TlOperator* op, const TlValue* args, const TlValue* rets) {
  if (t_seen.calls++ != 0) return;
  try {
    t_seen.call = NativeCall::of(op, args);
    for (int i = 0; t_seen.call && i < t_seen.call->n_results(); ++i)
      if (!keep_result(rets[i])) t_seen.call.reset();
  } catch (...) {
    pending_from_exception();
    api->error_clear();  // without memory for a copy, the call is repeated by Python's function
    t_seen.call.reset();
  }
}

PyRef objects_of(const std::vector<TlTensor*>& tensors) {
  PyRef list = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i) {
    api->tensor_retain(tensors[i]);
    PyTuple_SET_ITEM(list.get(), i, checked(python->wrap(tensors[i])).release());
  }
  return list;
}

void destroy_capsule(PyObject* capsule) {
  delete static_cast<NativeCall*>(PyCapsule_GetPointer(capsule, kCapsule));
}

PyObject* take() {
  if (t_seen.calls != 1 || !t_seen.call) return Py_NewRef(Py_None);
  const PyRef tensors = objects_of(t_seen.call->tensors()), results = objects_of(t_seen.results);
  t_seen.call->drop_tensors();
  const PyRef capsule = checked(PyCapsule_New(t_seen.call.get(), kCapsule, destroy_capsule));
  (void)t_seen.call.release();
  return PyTuple_Pack(3, capsule.get(), tensors.get(), results.get());
}
}  // namespace

PyObject* take_call(PyObject*, PyObject*) {
  PyObject* result = nullptr;
  try {
    result = take();
  } catch (const PythonError&) {
    result = nullptr;
  }
  t_seen.clear();
  return result;
}

PyObject* watch_calls(PyObject*, PyObject* on) {
  t_seen.clear();
  python_calls->watch(on == Py_True ? see : nullptr, nullptr);
  return Py_NewRef(Py_None);
}

const NativeCall* native_call_of(PyObject* capsule) {
  const auto* const call = static_cast<const NativeCall*>(PyCapsule_GetPointer(capsule, kCapsule));
  if (!call) throw PythonError();
  return call;
}

}  // namespace tl::compiler
