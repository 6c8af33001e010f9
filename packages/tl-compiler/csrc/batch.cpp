// Calls become steps of a program; settling computes the steps whose results somebody holds.
#include "batch.h"

#include <Python.h>

#include <algorithm>
#include <optional>

#include "counters.h"
#include "plan.h"
#include "registry.h"
#include "saved.h"
#include "tl/python.hpp"

namespace tl::compiler {

Counters counters;

namespace {
constexpr int64_t kLargeWork = 32768;  // elements worth giving up the interpreter's lock
constexpr uint64_t kAllowedBits = uint64_t{1} << TL_LAYER_AUTOGRAD;

int64_t cpu() { return TL_DEVICE_OF(TL_DEVICE_CPU, -1); }

// A tensor on whose elements work may wait: only operators change them.
bool may_wait(TlTensor* t) {
  return api->tensor_layout(t) == TL_STRIDED && api->tensor_device(t) == cpu() &&
         api->tensor_ndim(t) <= kMaxDims && !(api->bits_get(t) & ~kAllowedBits) &&
         !(api->storage_bits_get(t) & ~kDeferBit) && !api->tensor_is_exposed(t) && !api->tensor_marks(t);
}

// Whether the interpreter runs and this thread has its lock.
bool has_gil() { return Py_IsInitialized() && PyGILState_Check(); }
}  // namespace

PendingStep pending_step_of(TlTensor* t) {
  if (!is_awaited(t)) return {};
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex());
  return registry.find(reinterpret_cast<uint64_t>(api->tensor_pending_ctx(t)));
}

// ---- a call -----------------------------------------------------------------------------------------------

namespace {
bool is_pending(TlTensor* t) { return is_awaited(t) && api->tensor_pending_ctx(t); }

// Whether all tensors may wait, and one is large enough or waits itself.
bool may_wait(const TlValue* args, int n_args) {
  bool large = false;
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_TENSOR_LIST) return false;
    if (args[i].tag != TL_TENSOR) continue;
    if (!may_wait(args[i].u.t)) return false;
    large = large || api->tensor_numel(args[i].u.t) >= kMinElements || is_pending(args[i].u.t);
  }
  return large;
}

bool any_pending(const TlValue* args, int n_args) {
  for (int i = 0; i < n_args; ++i)
    if (args[i].tag == TL_TENSOR && is_pending(args[i].u.t)) return true;
  return false;
}

}  // namespace

Batch::Added Batch::add(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (!may_wait(args, n_args)) return Added::No;
  const Recipe& recipe = recipe_for(op, args, n_args, n_rets);
  if (!recipe.waits || (recipe.is_small && !any_pending(args, n_args))) return Added::No;
  std::vector<PendingStep> pending = pending_steps_of(args, n_args, false);
  std::scoped_lock lock(mutex_, Registry::get().mutex());
  if (state_ != State::Open || is_full() || !absorb(pending)) return Added::Closed;
  if (!reads_as_written(recipe, pending)) return Added::Closed;
  const auto first = static_cast<int>(program_.steps.size());
  append(recipe, args, pending);
  give_results(recipe, args, first, rets, n_rets);
  counters.operators.fetch_add(1, std::memory_order_relaxed);
  return Added::Yes;
}

namespace {
// Whether a tensor has the elements of a step's result, all of them and in their order.
bool is_whole(TlTensor* t, const Operand& out) {
  const Geometry& g = out.geometry;
  if (api->tensor_dtype(t) != out.dtype || api->tensor_ndim(t) != g.ndim || api->tensor_offset(t) != g.offset)
    return false;
  const int64_t *sizes = api->tensor_sizes(t), *strides = api->tensor_strides(t);
  for (int d = 0; d < g.ndim; ++d)
    if (sizes[d] != g.sizes[d] || (sizes[d] > 1 && strides[d] != g.strides[d])) return false;
  return true;
}

// Writing to a tensor of inference mode is an error outside of it, which the call itself raises.
bool may_be_written(TlTensor* t) { return !api->tensor_is_inference(t) || api->inference_mode(); }
}  // namespace

Batch::Added Batch::overwrite(const TlOperator* functional, const TlValue* args, int n_args) {
  TlTensor* const t = args[0].u.t;
  if (!is_awaited(t) || !may_wait(args, n_args) || !may_be_written(t)) return Added::No;
  const Recipe& recipe = recipe_for(functional, args, n_args, 1);
  if (!recipe.waits || recipe.results[0] < 0 || !is_whole(t, recipe.steps[recipe.results[0]].out))
    return Added::No;
  std::vector<PendingStep> pending = pending_steps_of(args, n_args, true);
  std::scoped_lock lock(mutex_, Registry::get().mutex());
  if (state_ != State::Open || is_full() || !absorb(pending) || !reads_as_written(recipe, pending))
    return Added::No;
  if (!pending[0].batch || !is_whole(t, program_.steps[pending[0].step].out)) return Added::No;
  const auto first = static_cast<int>(program_.steps.size());
  append(recipe, args, pending);
  const int from = pending[0].step, to = first + static_cast<int>(recipe.results[0]);
  ids_[to] = std::exchange(ids_[from], 0);
  storages_[to] = std::exchange(storages_[from], nullptr);
  Registry::get().move(ids_[to], {shared_from_this(), to});
  api->tensor_bump_version(t);
  counters.operators.fetch_add(1, std::memory_order_relaxed);
  return Added::Yes;
}

// A result that is read as another type is read from memory.
bool Batch::reads_as_written(const Recipe& recipe, const std::vector<PendingStep>& pending) const {
  for (const Step& s : recipe.steps)
    for (int i = 0; i < s.n_inputs; ++i) {
      const Operand& o = s.inputs[i];
      if (o.kind != Operand::Input || !pending[o.index].batch) continue;
      if (program_.steps[pending[o.index].step].out.dtype != o.dtype) return false;
    }
  return true;
}

void Batch::append(const Recipe& recipe, const TlValue* args, const std::vector<PendingStep>& pending) {
  const auto first = static_cast<int>(program_.steps.size());
  for (size_t k = 0; k < recipe.steps.size(); ++k) {
    Step step = recipe.steps[k];
    if (step.result_of >= 0) step.result_of += first;
    for (int i = 0; i < step.n_inputs; ++i) {
      Operand& o = step.inputs[i];
      if (o.kind == Operand::Step) {
        o.index += first;
      } else if (o.kind == Operand::Input && pending[o.index].batch) {
        o.kind = Operand::Step;
        o.index = pending[o.index].step;
      } else if (o.kind == Operand::Input) {
        o.index = input_of(args[o.index].u.t);
      }
    }
    append(step, {recipe.id, static_cast<int>(k)});
  }
}

void Batch::append(const Step& step, std::pair<uint64_t, int> origin) {
  program_.steps.push_back(step);
  ids_.push_back(0);
  storages_.push_back(nullptr);
  origins_.push_back(origin);
  has_key_ = has_key_ && origin.first;
  key_.push_back(origin.first);
  key_.push_back(static_cast<uint64_t>(origin.second));
  for (int i = 0; i < step.n_inputs; ++i) {
    const Operand& o = step.inputs[i];
    key_.push_back(static_cast<uint64_t>(o.kind) << 32 | static_cast<uint32_t>(o.index));
  }
}

// The storage as a whole: operands know where in it they lie.
int Batch::input_of(TlTensor* t) {
  const void* const storage = api->tensor_storage_id(t);
  const auto [at, fresh] = inputs_of_.try_emplace(storage, static_cast<int>(program_.inputs.size()));
  if (!fresh) return at->second;
  program_.inputs.push_back(owned(api->tensor_alias_as(t, 0, nullptr, nullptr, 0)));
  Registry::get().add_reader(storage, shared_from_this());
  api->storage_bits_set(t, kDeferBit, 1);
  return at->second;
}

void Batch::give_results(const Recipe& recipe, const TlValue* args, int first, TlValue* rets, int n_rets) {
  for (int i = 0; i < n_rets; ++i) {
    const int64_t result = recipe.results[i];
    if (result < 0) {
      rets[i] = args[-1 - result];
      api->tensor_retain(rets[i].u.t);
      continue;
    }
    const int step = first + static_cast<int>(result);
    const Operand& out = program_.steps[step].out;
    const uint64_t id = Registry::get().add(shared_from_this(), step);
    TlTensor* t = api->tensor_pending(out.geometry.ndim, out.geometry.sizes, out.geometry.strides, out.dtype,
                                      reinterpret_cast<void*>(id));
    if (!t) throw Pending();
    ids_[step] = id;
    storages_[step] = api->tensor_storage_id(t);
    rets[i] = {TL_TENSOR, 0, {.t = t}};
  }
}

// ---- settling ---------------------------------------------------------------------------------------------

namespace {
// What the execution itself reads is not written to.
thread_local bool t_executing = false;
struct Executing {
  Executing() { t_executing = true; }
  ~Executing() { t_executing = false; }
  Executing(const Executing&) = delete;
};
}  // namespace

bool Batch::begin(State& before) {
  std::unique_lock lock(mutex_);
  while (state_ == State::Running) {
    if (runner_ == std::this_thread::get_id()) {
      api->error_set(TL_ERROR_RUNTIME,
                     "a signal handler asks for the values of a compiled region while they are computed");
      throw Pending();
    }
    std::optional<WithoutGil> others_run;
    if (has_gil()) {
      lock.unlock();
      others_run.emplace();
      lock.lock();
    }
    ended_.wait(lock, [&] { return state_ != State::Running; });
    lock.unlock();
    others_run.reset();
    lock.lock();
  }
  if (state_ == State::Done) return false;
  before = std::exchange(state_, State::Running);
  runner_ = std::this_thread::get_id();
  return true;
}

std::vector<Batch::Held> Batch::hold() {
  std::vector<Held> held;
  held.reserve(ids_.size());
  std::scoped_lock lock(mutex_, Registry::get().mutex());
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (!ids_[i]) continue;
    Tensor t(api->storage_lock(storages_[i]));
    if (t) held.push_back({static_cast<int>(i), ids_[i], std::move(t)});
  }
  return held;
}

void Batch::compute(const std::vector<uint64_t>* asked) {
  State before;
  if (!begin(before)) return;
  SpareInputs spare;
  try {
    const std::vector<Held> held = hold();
    const Remainder remainder = choose(held, before == State::Open ? asked : nullptr);
    int64_t elements = 0;
    for (const Step& step : program_.steps) elements = std::max(elements, step.out.geometry.numel());
    for (const Tensor& t : program_.inputs)
      elements = std::max(elements, api->tensor_storage_bytes(t.get()) / 8);
    const WithoutGil others_run(elements >= kLargeWork && has_gil());
    const Executing executing;
    // What is left reads the inputs again.
    spare.flags = remainder.left.empty() ? spare_inputs() : std::vector<char>(program_.inputs.size());
    std::vector<Tensor> memory =
        plan_for(program_, remainder.stored, has_key_ ? key_ : std::vector<uint64_t>{})
            .run(program_.inputs, spare);
    provide(held, remainder, memory);
    if (!remainder.left.empty()) keep(held, remainder, memory);
  } catch (...) {
    end(State::Waiting);
    throw;
  }
  counters.batches.fetch_add(1, std::memory_order_relaxed);
  end(State::Done);
  if (spare.is_interrupted) throw Pending();
}

// Those whose only reference is this batch's, as those of a product that nobody reads again.
std::vector<char> Batch::spare_inputs() const {
  std::vector<char> out;
  for (const Tensor& t : program_.inputs)
    out.push_back(api->tensor_storage_refcount(t.get()) == 1 && !api->tensor_is_exposed(t.get()));
  return out;
}

// ---- what may wait on -------------------------------------------------------------------------------------

// Without `asked`, nothing may.
Remainder Batch::choose(const std::vector<Held>& held, const std::vector<uint64_t>* asked) const {
  Remainder all;
  for (const Held& h : held) all.stored.push_back(h.step);
  if (!asked || held.empty()) return all;
  const SavedStorages saved;
  Holders holders;
  holders.step_cost.resize(program_.steps.size());
  for (size_t k = 0; k < program_.steps.size(); ++k)
    holders.step_cost[k] = program_.steps[k].out.geometry.numel() * program_.steps[k].out.bytes();
  for (const Held& h : held) {
    const void* const storage = storages_[h.step];
    // One reference is this batch's, while it computes.
    const int64_t others = api->tensor_storage_refcount(h.tensor.get()) - 1 - saved.references(storage);
    const bool is_asked = std::ranges::find(*asked, h.id) != asked->end();
    (others > 0 || is_asked ? holders.held : holders.saved).push_back(h.step);
    if (saved.holds(storage)) holders.step_cost[h.step] = 0;
  }
  if (holders.saved.empty()) return all;
  for (const Tensor& t : program_.inputs)
    holders.input_cost.push_back(
        saved.holds(api->tensor_storage_id(t.get())) ? 0 : api->tensor_storage_bytes(t.get()));
  return remainder_of(program_.steps, holders);
}

namespace {
Tensor whole_storage(TlTensor* t) { return owned(api->tensor_alias_as(t, 0, nullptr, nullptr, 0)); }
}  // namespace

// What is left goes on as a batch of its own. What it reads of the rest it reads from memory.
void Batch::keep(const std::vector<Held>& held, const Remainder& remainder,
                 const std::vector<Tensor>& memory) {
  std::vector<Tensor> stored(program_.steps.size());
  for (size_t i = 0; i < remainder.stored.size(); ++i)
    if (memory[i]) stored[remainder.stored[i]] = whole_storage(memory[i].get());
  for (const Held& h : held)
    if (std::ranges::binary_search(remainder.stored, h.step)) stored[h.step] = whole_storage(h.tensor.get());
  const auto rest = std::make_shared<Batch>();
  rest->state_ = State::Waiting;
  rest->is_remainder_ = true;
  try {
    std::scoped_lock lock(mutex_, Registry::get().mutex());
    rest->continue_from(*this, steps_of(program_.steps, remainder), stored);
    rest->take_over(*this);
  } catch (...) {
    rest->end(State::Done);
    throw;
  }
  counters.left.fetch_add(static_cast<int64_t>(remainder.left.size()), std::memory_order_relaxed);
  rest->end_unless_held();
}

void Batch::continue_from(const Batch& before, const std::vector<char>& remaining,
                          const std::vector<Tensor>& stored) {
  std::vector<int> position(remaining.size(), -1);
  for (size_t k = 0; k < remaining.size(); ++k) {
    if (!remaining[k]) continue;
    Step step = before.program_.steps[k];
    for (int i = 0; i < step.n_inputs; ++i) {
      Operand& o = step.inputs[i];
      if (o.kind == Operand::Input) {
        o.index = input_of(before.program_.inputs[o.index].get());
      } else if (o.kind == Operand::Step && stored[o.index]) {
        o.kind = Operand::Input;
        o.index = input_of(stored[o.index].get());
      } else if (o.kind == Operand::Step) {
        o.index = position[o.index];
      }
    }
    position[k] = static_cast<int>(program_.steps.size());
    append(step, before.origins_[k]);
    ids_.back() = before.ids_[k];
    storages_.back() = before.storages_[k];
  }
}

// The pending tensors that still have a holder.
void Batch::take_over(Batch& before) {
  Registry& registry = Registry::get();
  for (size_t k = 0; k < ids_.size(); ++k) {
    if (!ids_[k]) continue;
    if (registry.find(ids_[k]).batch)
      registry.move(ids_[k], {shared_from_this(), static_cast<int>(k)});
    else
      ids_[k] = 0;
  }
  std::ranges::fill(before.ids_, 0);
}

void Batch::provide(const std::vector<Held>& held, const Remainder& remainder, std::vector<Tensor>& memory) {
  std::scoped_lock lock(mutex_, Registry::get().mutex());
  for (const Held& h : held) {
    const auto at = std::ranges::lower_bound(remainder.stored, h.step);
    if (at == remainder.stored.end() || *at != h.step) continue;
    check(api->tensor_provide(h.tensor.get(), memory[at - remainder.stored.begin()].get()));
    memory[at - remainder.stored.begin()] = {};
    Registry::get().remove(h.id);
    ids_[h.step] = 0;
  }
}

void Batch::end(State state) {
  std::vector<Tensor> released;
  const auto keep = shared_from_this();
  {
    std::scoped_lock lock(mutex_, Registry::get().mutex());
    state_ = state;
    if (state == State::Done) {
      for (const auto& [storage, index] : inputs_of_)
        if (!Registry::get().remove_reader(storage, this))
          api->storage_bits_set(program_.inputs[index].get(), kDeferBit, 0);
      released.swap(program_.inputs);
      program_.steps.clear();
      inputs_of_.clear();
    }
  }
  ended_.notify_all();
}

void Batch::drop(int step) {
  {
    std::lock_guard lock(mutex_);
    ids_[step] = 0;
  }
  end_unless_held();
}

void Batch::end_unless_held() {
  {
    std::lock_guard lock(mutex_);
    const bool is_held = std::ranges::any_of(ids_, [](uint64_t id) { return id != 0; });
    if (state_ != State::Waiting || is_held) return;
  }
  end(State::Done);
}

void open_storage(const void* storage) {
  std::vector<std::shared_ptr<Batch>> readers;
  {
    std::lock_guard lock(Registry::get().mutex());
    readers = Registry::get().readers(storage);
  }
  for (const auto& batch : readers) batch->settle();
}

// ---- what tl-core calls -----------------------------------------------------------------------------------
namespace {
int settle_pending(void* ctx) {
  try {
    PendingStep pending_step;
    {
      std::lock_guard lock(Registry::get().mutex());
      pending_step = Registry::get().find(reinterpret_cast<uint64_t>(ctx));
    }
    if (pending_step.batch) pending_step.batch->close({reinterpret_cast<uint64_t>(ctx)});
    return 0;
  } catch (...) {
    return pending_from_exception();
  }
}

void drop_pending(void* ctx) {
  PendingStep pending_step;
  {
    std::lock_guard lock(Registry::get().mutex());
    pending_step = Registry::get().find(reinterpret_cast<uint64_t>(ctx));
    Registry::get().remove(reinterpret_cast<uint64_t>(ctx));
  }
  if (pending_step.batch) pending_step.batch->drop(pending_step.step);
}

int open_pending(const void* storage) {
  try {
    if (!t_executing) open_storage(storage);
    return 0;
  } catch (...) {
    return pending_from_exception();
  }
}
}  // namespace

const TlDeferral& deferral() {
  static const TlDeferral functions{sizeof(TlDeferral), settle_pending, drop_pending, open_pending};
  return functions;
}

}  // namespace tl::compiler
