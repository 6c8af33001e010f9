// Loops alone are computed again, never calls. What shares a source is stored or left together: the source
// counts once.
#include "remainder.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tl::compiler {

namespace {
// A result this much smaller than the largest is stored: its bytes are few, what it comes from may be long.
constexpr int64_t kSmallShare = 16;

int64_t bytes_of(const Step& step) { return step.out.geometry.numel() * step.out.bytes(); }
bool is_call(const Step& step) { return step.call || step.result_of >= 0; }

class Chooser {
 public:
  Chooser(const std::vector<Step>& steps, const Holders& holders)
      : steps_(steps), holders_(holders), stored_(steps.size()), seen_(steps.size(), -1) {
    for (int k : holders.held) stored_[k] = 1;
    int64_t most = 0;
    for (const Step& step : steps) most = std::max(most, bytes_of(step));
    for (int k : holders.saved) {
      const bool is_small = bytes_of(steps[k]) <= most / kSmallShare;
      if (is_small || is_call(steps[k]))
        stored_[k] = 1;
      else
        left_.push_back(k);
    }
  }

  Remainder choose() {
    store_costly_results();
    Remainder out;
    for (int k : left_) {
      if (stored_[k]) continue;
      out.left.push_back(k);
      visit(k, k, [](int) {}, [this](int call) { stored_[call] = 1; });
    }
    for (size_t k = 0; k < steps_.size(); ++k)
      if (stored_[k]) out.stored.push_back(static_cast<int>(k));
    return out;
  }

 private:
  // Calls `input` with each input, and `step` with each stored result or call, that step k is computed from.
  template <class I, class S>
  void visit(int k, int mark, I input, S step) {
    if (std::exchange(seen_[k], mark) == mark) return;
    for (int i = 0; i < steps_[k].n_inputs; ++i) {
      const Operand& o = steps_[k].inputs[i];
      if (o.kind == Operand::Input) input(o.index);
      if (o.kind != Operand::Step) continue;
      if (stored_[o.index] || is_call(steps_[o.index]))
        step(o.index);
      else
        visit(o.index, mark, input, step);
    }
  }

  int root(int i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }

  // Stores the results whose sources take as many bytes and are kept for these results alone.
  void store_costly_results() {
    const auto n_inputs = static_cast<int>(holders_.input_cost.size());
    std::unordered_map<int, int> first_reader;  // of a source with a cost: of an input, or n_inputs + step
    parent_.resize(left_.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    for (int c = 0; c < static_cast<int>(left_.size()); ++c) {
      const auto source = [&](int s, int64_t cost) {
        if (cost) parent_[root(c)] = root(first_reader.try_emplace(s, c).first->second);
      };
      visit(
          left_[c], static_cast<int>(steps_.size()) + c, [&](int i) { source(i, holders_.input_cost[i]); },
          [&](int k) { source(n_inputs + k, holders_.step_cost[k]); });
    }
    std::vector<int64_t> saving(left_.size());
    for (size_t c = 0; c < left_.size(); ++c) saving[root(static_cast<int>(c))] += bytes_of(steps_[left_[c]]);
    for (const auto& [s, c] : first_reader)
      saving[root(c)] -= s < n_inputs ? holders_.input_cost[s] : holders_.step_cost[s - n_inputs];
    for (size_t c = 0; c < left_.size(); ++c)
      if (saving[root(static_cast<int>(c))] <= 0) stored_[left_[c]] = 1;
  }

  const std::vector<Step>& steps_;
  const Holders& holders_;
  std::vector<char> stored_;
  std::vector<int> left_;
  std::vector<int> seen_;    // a step's: the last mark under which it was visited
  std::vector<int> parent_;  // of those that are left, by common sources
};
}  // namespace

Remainder remainder_of(const std::vector<Step>& steps, const Holders& holders) {
  return Chooser(steps, holders).choose();
}

std::vector<char> steps_of(const std::vector<Step>& steps, const Remainder& remainder) {
  std::vector<char> stored(steps.size()), out(steps.size());
  for (int k : remainder.stored) stored[k] = 1;
  for (int k : remainder.left) out[k] = 1;
  for (size_t k = steps.size(); k-- > 0;)
    for (int i = 0; out[k] && i < steps[k].n_inputs; ++i)
      if (const Operand& o = steps[k].inputs[i]; o.kind == Operand::Step && !stored[o.index])
        out[o.index] = 1;
  return out;
}

}  // namespace tl::compiler
