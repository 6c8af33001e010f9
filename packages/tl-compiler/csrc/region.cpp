// The layer `defer`: calls that are loops over elements wait, what others read is computed first.
#include "region.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

#include "call.h"
#include "saved.h"

namespace tl::compiler {

namespace {
struct Thread {
  int depth = 0;           // of regions
  int programs = 0;        // of them, those of a compiled function
  OperatorSums sums;       // of the operators that were called
  bool suspended = false;  // inside a kernel, which reads what it calls
  std::shared_ptr<Batch> batch;
};
Thread& thread() {
  thread_local Thread t;
  return t;
}

struct Entry {
  const TlOperator* op;
  bool waits, is_view;
  const TlOperator*
      overwrites;  // the functional form, where that has loops and this one writes to its first argument
  uint64_t written;
};

template <class F>
void each_tensor(const TlValue* args, int n_args, F f) {
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_TENSOR) f(args[i].u.t, i);
    if (args[i].tag != TL_TENSOR_LIST) continue;
    auto* list = static_cast<TlTensor* const*>(args[i].u.p);
    for (uint32_t k = 0; k < args[i].len; ++k)
      if (list[k]) f(list[k], i);
  }
}

// The pending tensors that a call reads, by the batch that computes them.
using Asked = std::vector<std::pair<std::shared_ptr<Batch>, std::vector<uint64_t>>>;

void ask(Asked& asked, TlTensor* t) {
  PendingStep pending_step = pending_step_of(t);
  if (!pending_step.batch) return;
  auto at = std::ranges::find(asked, pending_step.batch, &Asked::value_type::first);
  if (at == asked.end()) at = asked.insert(at, {std::move(pending_step.batch), {}});
  at->second.push_back(reinterpret_cast<uint64_t>(api->tensor_pending_ctx(t)));
}

// Before a call that does not wait: what it reads is computed, and what waits for what it writes.
void settle_arguments(const Entry& e, const TlValue* args, int n_args) {
  Asked asked;
  const auto writes = [&](int i) { return (e.written >> (i < 63 ? i : 63) & 1) != 0; };
  each_tensor(args, n_args, [&](TlTensor* t, int i) {
    if (is_awaited(t) && (!e.is_view || writes(i))) ask(asked, t);
  });
  for (const auto& [batch, ids] : asked) batch->close(ids);
  each_tensor(args, n_args, [&](TlTensor* t, int i) {
    if (is_awaited(t) && writes(i)) open_storage(api->tensor_storage_id(t));
  });
}

// Whether a call reads many elements, or what waits or is awaited: the others pass.
bool concerns(const TlValue* args, int n_args) {
  bool found = false;
  each_tensor(args, n_args, [&](TlTensor* t, int) {
    found = found || api->tensor_numel(t) >= kMinElements || is_awaited(t);
  });
  return found;
}

bool wait(Thread& t, const Entry& e, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (!t.batch) t.batch = std::make_shared<Batch>();
  Batch::Added added = t.batch->add(e.op, args, n_args, rets, n_rets);
  if (added == Batch::Added::Closed) {
    std::exchange(t.batch, std::make_shared<Batch>())->close({});
    added = t.batch->add(e.op, args, n_args, rets, n_rets);
  }
  return added == Batch::Added::Yes;
}

// A write over all of a result that waits is one more step.
bool overwrite(Thread& t, const Entry& e, const TlValue* args, int n_args, TlValue* rets) {
  if (!t.batch || args[0].tag != TL_TENSOR) return false;
  if (t.batch->overwrite(e.overwrites, args, n_args) != Batch::Added::Yes) return false;
  api->tensor_retain(args[0].u.t);
  rets[0] = args[0];
  return true;
}

class Suspension {
 public:
  explicit Suspension(Thread& t) : t_(t), before_(std::exchange(t.suspended, true)) {}
  ~Suspension() { t_.suspended = before_; }
  Suspension(const Suspension&) = delete;

 private:
  Thread& t_;
  bool before_;
};

// A sum of numbers that an operator and the size of its result decide, as random as they can be.
void note_result(OperatorSums& sums, const Entry& e, const TlValue* rets, int n_rets) {
  const uint64_t n = n_rets && rets[0].tag == TL_TENSOR ? api->tensor_numel(rets[0].u.t) : 0;
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t mixture = (reinterpret_cast<uintptr_t>(e.op) + n * kOdd) * kOdd;
  mixture ^= mixture >> 29;
  sums.mixture += mixture * kOdd;
  sums.elements += n;
}

int handle_call(Thread& t, const Entry& e, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (!concerns(args, n_args)) {
    const Suspension suspension(t);
    return api->op_call_past(e.op, TL_LAYER_DEFER, args, n_args, rets, n_rets);
  }
  ++t.sums.large;
  try {
    if (t.depth && !t.suspended) {
      if (e.waits && wait(t, e, args, n_args, rets, n_rets)) return 0;
      if (e.overwrites && overwrite(t, e, args, n_args, rets)) return 0;
    }
    settle_arguments(e, args, n_args);
  } catch (...) {
    return pending_from_exception();
  }
  const Suspension suspension(t);
  return api->op_call_past(e.op, TL_LAYER_DEFER, args, n_args, rets, n_rets);
}

int on_call(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const Entry& e = *static_cast<const Entry*>(ctx);
  Thread& t = thread();
  ++t.sums.calls;
  const int status = handle_call(t, e, args, n_args, rets, n_rets);
  if (!status) note_result(t.sums, e, rets, n_rets);
  return status;
}

// Such as `zeros_like`, which read a geometry.
bool reads_no_elements(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.'));
  return base.ends_with("_like") || base.starts_with("new_");
}

// `unsum` expands a gradient over what was reduced; elsewhere its result is an ordinary one.
bool is_view(const TlOperatorInfo& info) { return info.is_view || std::string_view(info.name) == "unsum"; }

bool has_loops(const TlOperator* op) {
  return api->op_loops(op, nullptr, 0, nullptr, api->op_info(op)->n_rets, nullptr, nullptr) == 0;
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  const TlOperatorInfo& info = *api->op_info(op);
  if (info.is_composite || (reads_no_elements(info.name) && info.variant == TL_FUNCTIONAL)) return 0;
  uint64_t written = 0;
  for (int i = 0; i < info.n_args; ++i)
    if (argument_info(info, i).written) written |= uint64_t{1} << (i < 63 ? i : 63);
  const TlOperator* const overwrites =
      info.variant == TL_INPLACE && info.n_rets == 1 ? info.functional : nullptr;
  auto* entry = new Entry{op, has_loops(op) || is_callable(op), is_view(info), nullptr,
                          written};  // as long as the operator
  if (overwrites && overwrites != op && has_loops(overwrites)) entry->overwrites = overwrites;
  *out = {on_call, entry};
  return 0;
}
}  // namespace

Region::Region(bool defers) : defers_(defers) {
  ++thread().programs;
  if (defers_) enter();
}

Region::~Region() {
  if (defers_) leave();
  --thread().programs;
}

void Region::enter() {
  if (thread().depth++ != 0) return;
  api->thread_include(kDeferBit, 1);
  note_nodes(true);
}

void Region::leave() {
  Thread& t = thread();
  if (--t.depth != 0) return;
  api->thread_include(kDeferBit, 0);
  note_nodes(false);
  t.batch.reset();
}

void Region::settle() {
  Thread& t = thread();
  if (t.depth == 1 && t.batch) std::exchange(t.batch, nullptr)->close({});
}

namespace {
// A backward that fails keeps its own error; what it leaves waits until somebody reads it.
int leave_backward(int failed) {
  int status = 0;
  try {
    if (!failed) Region::settle();
  } catch (...) {
    status = pending_from_exception();
  }
  Region::leave();
  return status;
}
}  // namespace

const TlRegionCalls& region_calls() {
  static const TlRegionCalls calls{Region::enter, leave_backward};
  return calls;
}

const OperatorSums& sums_of_thread() { return thread().sums; }

bool in_region() { return thread().programs > 0; }

void install(const TlRegions& regions) {
  static std::once_flag once;
  std::call_once(once, [&] {
    check(api->deferral_install(&deferral()));
    check(api->layer_install(TL_LAYER_DEFER, bind, nullptr));
    set_regions(&regions);
    regions.install(&region_calls());
  });
}

}  // namespace tl::compiler
