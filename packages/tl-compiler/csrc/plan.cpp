// Plans are saved by what their program consists of: recipes, and where their arguments come from.
#include "plan.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "counters.h"
#include "emit/fragment.h"

namespace tl::compiler {

namespace {
constexpr size_t kMostEntries = 128;

struct Hash {
  size_t operator()(const std::vector<uint64_t>& key) const {
    uint64_t h = key.size();
    for (uint64_t word : key) h = (h ^ word) * 0x9E3779B97F4A7C15 + (h >> 29);
    return h;
  }
};
struct OfThread {
  std::unordered_map<std::vector<uint64_t>, std::unique_ptr<Plan>, Hash> cache;
  std::unique_ptr<Plan> other;
};

Tensor memory_for(const Step& step) {
  const Geometry& g = step.out.geometry;
  if (g.is_row_major())
    return owned(api->tensor_empty(g.ndim, g.sizes, step.out.dtype, TL_DEVICE_OF(TL_DEVICE_CPU, -1)));
  const int64_t n = g.numel();
  return owned(api->tensor_empty(1, &n, step.out.dtype, TL_DEVICE_OF(TL_DEVICE_CPU, -1)));
}

Tensor arena_of(int64_t bytes) {
  return owned(api->tensor_empty(1, &bytes, TL_DTYPE_OF(TL_CODE_UINT, 8), TL_DEVICE_OF(TL_DEVICE_CPU, -1)));
}
}  // namespace

Plan::Plan(std::vector<Step> steps, std::vector<int> wanted)
    : steps_(std::move(steps)),
      wanted_(std::move(wanted)),
      division_(divide(steps_, wanted_)),
      placement_(plan_memory(steps_, wanted_, division_)) {
  for (const Group& group : division_.groups) {
    Work& work = work_.emplace_back();
    if (group.rows)
      work.rows = std::make_unique<RowPass>(steps_, division_, group);
    else if (!group.is_call)
      work.pass = std::make_unique<Pass>(steps_, division_, group);
  }
}

void Plan::allocate(const Group& group, Memory& memory) const {
  for (int k : group.steps) {
    if (!division_.stored[k] || memory.tensors[k]) continue;
    const int donor = placement_.donors[k];
    if (placement_.offsets[k] >= 0) {
      if (!memory.arena) memory.arena = arena_of(placement_.bytes);
      memory.results[k] = static_cast<char*>(api->tensor_data(memory.arena.get())) + placement_.offsets[k];
      continue;
    }
    memory.tensors[k] = donor < 0 ? memory_for(steps_[k]) : std::move(memory.tensors[donor]);
    memory.results[k] = static_cast<char*>(api->tensor_data(memory.tensors[k].get()));
  }
}

// Addresses are all that changes from call to call.
template <class P>
void Plan::run(P& pass, const Group& group, Memory& memory) const {
  allocate(group, memory);
  pass.bind(memory.inputs, memory.results);
  pass.run();
  counters.emitted.fetch_add(pass.emitted_loops(), std::memory_order_relaxed);
}

// Whether the last group's results lie over inputs, as far as those have the size of a result.
bool Plan::take_inputs(const std::vector<Tensor>& inputs, SpareInputs& spare, Memory& memory) const {
  bool takes = false;
  for (const auto& [k, i] : placement_.offers) {
    const Operand& out = steps_[k].out;
    TlTensor* const t = inputs[i].get();
    if (!spare.flags[i] || memory.tensors[k] || api->tensor_dtype(t) != out.dtype ||
        api->tensor_storage_bytes(t) != out.geometry.numel() * out.bytes())
      continue;
    memory.tensors[k] = Tensor::share(t);
    memory.results[k] = static_cast<char*>(api->tensor_data(t));
    spare.flags[i] = 0;
    takes = true;
  }
  return takes;
}

void Plan::run_last(const std::vector<Tensor>& inputs, SpareInputs& spare, Memory& memory) const {
  const Group& group = division_.groups.back();
  Pass& pass = *work_.back().pass;
  if (!take_inputs(inputs, spare, memory)) return run(pass, group, memory);
  allocate(group, memory);
  pass.bind(memory.inputs, memory.results);
  spare.is_interrupted = !pass.run_to_end();
  counters.emitted.fetch_add(pass.emitted_loops(), std::memory_order_relaxed);
}

namespace {
Tensor operand_in(TlTensor* memory, const char* data, const Operand& o) {
  const Geometry& g = o.geometry;
  if (memory && api->tensor_dtype(memory) == o.dtype)
    return owned(api->tensor_alias_as(memory, g.ndim, g.sizes, g.strides, g.offset));
  return owned(api->tensor_from_memory(
      const_cast<char*>(data) + g.offset * o.bytes(), g.ndim, g.sizes, g.strides, o.dtype,
      TL_DEVICE_OF(TL_DEVICE_CPU, -1), [](void*) {}, nullptr));
}
}  // namespace

void Plan::call(const Group& group, const std::vector<Tensor>& inputs, Memory& memory) const {
  const Step& step = steps_[group.steps[0]];
  Tensor operands[TL_LOOP_INPUTS];
  for (int i = 0; i < step.n_inputs; ++i) {
    const Operand& o = step.inputs[i];
    operands[i] = o.kind == Operand::Input
                      ? operand_in(inputs[o.index].get(), memory.inputs[o.index], o)
                      : operand_in(memory.tensors[o.index].get(), memory.results[o.index], o);
  }
  std::vector<Tensor> results = step.call->run(operands);
  for (int k : group.steps) {
    if (!division_.stored[k]) continue;
    memory.tensors[k] = std::move(results[steps_[k].result]);
    memory.results[k] = static_cast<char*>(api->tensor_data(memory.tensors[k].get()));
  }
}

bool Plan::has_calls() const {
  return std::ranges::any_of(work_, [](const Work& work) { return !work.pass; });
}

void Plan::run_here(const std::vector<const char*>& inputs, std::vector<Tensor>& results) {
  memory_.tensors.resize(steps_.size());
  memory_.results.resize(steps_.size());
  for (size_t g = 0; g < work_.size(); ++g) {
    allocate(division_.groups[g], memory_);
    work_[g].pass->bind(inputs, memory_.results);
    work_[g].pass->run_here();
    for (int k : division_.last_read[g]) memory_.tensors[k] = {};
  }
  for (size_t i = 0; i < wanted_.size(); ++i) results[i] = std::move(memory_.tensors[wanted_[i]]);
}

std::vector<Tensor> Plan::run(const std::vector<Tensor>& inputs, SpareInputs& spare) {
  Memory memory{{}, std::vector<Tensor>(steps_.size()), std::vector<char*>(steps_.size()), {}};
  for (const Tensor& t : inputs) {
    memory.inputs.push_back(static_cast<const char*>(api->tensor_data(t.get())));
    if (!memory.inputs.back()) throw Pending();
  }
  for (size_t g = 0; g < work_.size(); ++g) {
    const Group& group = division_.groups[g];
    if (work_[g].rows)
      run(*work_[g].rows, group, memory);
    else if (work_[g].pass && g + 1 == work_.size())
      run_last(inputs, spare, memory);
    else if (work_[g].pass)
      run(*work_[g].pass, group, memory);
    else
      call(group, inputs, memory);
    counters.groups.fetch_add(1, std::memory_order_relaxed);
    counters.loops.fetch_add(static_cast<int64_t>(group.steps.size()), std::memory_order_relaxed);
    // Temporaries end here, so that the next group finds their memory in the caches.
    for (int k : division_.last_read[g]) memory.tensors[k] = {};
    if (static_cast<int>(g) == placement_.last_group) memory.arena = {};
  }
  std::vector<Tensor> out;
  for (int k : wanted_) out.push_back(std::move(memory.tensors[k]));
  return out;
}

Plan& plan_for(const Program& program, const std::vector<int>& wanted, std::vector<uint64_t> key) {
  thread_local OfThread t;
  if (key.empty()) {
    t.other = std::make_unique<Plan>(program.steps, wanted);
    return *t.other;
  }
  for (int k : wanted) key.push_back(static_cast<uint64_t>(k));
  key.push_back(static_cast<uint64_t>(emission_level()));
  if (t.cache.size() >= kMostEntries && !t.cache.count(key)) t.cache.clear();
  std::unique_ptr<Plan>& plan = t.cache[std::move(key)];
  if (!plan) plan = std::make_unique<Plan>(program.steps, wanted);
  return *plan;
}

}  // namespace tl::compiler
