// Plans are saved by what their program consists of: recipes, and where their arguments come from.
#include "plan.h"

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
  const int64_t n = step.out.geometry.numel();
  return owned(api->tensor_empty(1, &n, step.out.dtype, TL_DEVICE_OF(TL_DEVICE_CPU, -1)));
}
}  // namespace

Plan::Plan(std::vector<Step> steps, std::vector<int> wanted)
    : steps_(std::move(steps)), wanted_(std::move(wanted)), division_(divide(steps_, wanted_)) {
  passes_.reserve(division_.groups.size());
  for (const Group& group : division_.groups) passes_.emplace_back(steps_, division_, group);
}

std::vector<Tensor> Plan::run(const std::vector<Tensor>& inputs) {
  std::vector<const char*> data;
  for (const Tensor& t : inputs) {
    data.push_back(static_cast<const char*>(api->tensor_data(t.get())));
    if (!data.back()) throw Pending();
  }
  std::vector<Tensor> memory(steps_.size());
  std::vector<char*> results(steps_.size());
  for (size_t g = 0; g < passes_.size(); ++g) {
    const Group& group = division_.groups[g];
    for (int k : group.steps) {
      if (!division_.stored[k]) continue;
      memory[k] = memory_for(steps_[k]);
      results[k] = static_cast<char*>(api->tensor_data(memory[k].get()));
    }
    // Addresses are all that changes from call to call.
    passes_[g].bind(data, results);
    passes_[g].run();
    counters.groups.fetch_add(1, std::memory_order_relaxed);
    counters.loops.fetch_add(static_cast<int64_t>(group.steps.size()), std::memory_order_relaxed);
    counters.emitted.fetch_add(passes_[g].emitted_loops(), std::memory_order_relaxed);
    for (int k : division_.last_read[g]) memory[k] = {};
  }
  std::vector<Tensor> out;
  for (int k : wanted_) out.push_back(std::move(memory[k]));
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
