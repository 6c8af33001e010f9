// A batch takes over the steps of a remainder that a call reads: a backward computes them within its own
// passes.
#include <algorithm>

#include "batch.h"
#include "counters.h"
#include "registry.h"

namespace tl::compiler {

namespace {
// Each batch that absorbs a remainder computes it again. After so many the results are computed for good.
constexpr int kMostTimesAbsorbed = 4;
}  // namespace

std::vector<PendingStep> Batch::pending_steps_of(const TlValue* args, int n_args, bool overwrites) {
  std::vector<PendingStep> pending(static_cast<size_t>(n_args));
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag != TL_TENSOR || !is_awaited(args[i].u.t)) continue;
    pending[i] = pending_step_of(args[i].u.t);
    if (!pending[i].batch || pending[i].batch.get() == this) continue;
    const bool is_target = overwrites && i == 0;
    if (is_target || !may_absorb(*pending[i].batch)) std::exchange(pending[i], {}).batch->settle();
  }
  return pending;
}

bool Batch::has_absorbed(const Batch& other) const {
  return std::ranges::any_of(absorbed_, [&](const auto& entry) { return entry.first.get() == &other; });
}

// Before the locks of both are taken: the state of the other is read again then.
bool Batch::may_absorb(const Batch& other) const {
  std::lock_guard lock(other.mutex_);
  return other.is_remainder_ && other.state_ == State::Waiting &&
         (has_absorbed(other) || other.times_absorbed_ < kMostTimesAbsorbed);
}

// Under the locks of this batch and of the registry. False: there is no room, or another thread has computed
// the remainder just now.
bool Batch::absorb(std::vector<PendingStep>& pending) {
  for (PendingStep& p : pending) {
    if (!p.batch || p.batch.get() == this) continue;
    std::lock_guard lock(p.batch->mutex_);
    const int first = absorb(*p.batch);
    if (first < 0) return false;
    p = {shared_from_this(), first + p.step};
  }
  return true;
}

int Batch::absorb(Batch& remainder) {
  if (remainder.state_ != State::Waiting) return -1;
  for (const auto& [batch, first] : absorbed_)
    if (batch.get() == &remainder) return first;
  const auto first = static_cast<int>(program_.steps.size());
  if (first && first + remainder.program_.steps.size() > kMaxSteps) return -1;
  for (size_t k = 0; k < remainder.program_.steps.size(); ++k) {
    Step step = remainder.program_.steps[k];
    for (int i = 0; i < step.n_inputs; ++i) {
      Operand& o = step.inputs[i];
      if (o.kind == Operand::Step) o.index += first;
      if (o.kind == Operand::Input) o.index = input_of(remainder.program_.inputs[o.index].get());
    }
    append(step, remainder.origins_[k]);
  }
  absorbed_.emplace_back(remainder.shared_from_this(), first);
  ++remainder.times_absorbed_;
  counters.absorbed.fetch_add(1, std::memory_order_relaxed);
  return first;
}

}  // namespace tl::compiler
