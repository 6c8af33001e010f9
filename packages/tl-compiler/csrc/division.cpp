// Each step joins the group of what it reads where it can, and else the last that computes such elements.
#include "division.h"

#include <algorithm>

namespace tl::compiler {

namespace {
constexpr size_t kMaxSteps = 64;  // of a group: what it reads and writes has room in the first cache

std::vector<char> needed_steps(const std::vector<Step>& steps, const std::vector<int>& wanted) {
  std::vector<char> needed(steps.size());
  for (int step : wanted) needed[step] = 1;
  for (size_t k = steps.size(); k-- > 0;) {
    if (!needed[k]) continue;
    const Step& step = steps[k];
    for (int i = 0; i < step.n_inputs; ++i)
      if (step.inputs[i].kind == Operand::Step) needed[step.inputs[i].index] = 1;
  }
  return needed;
}

class Divider {
 public:
  Divider(const std::vector<Step>& steps, Division& out) : steps_(steps), out_(out) {}

  void add(int k) {
    const Step& step = steps_[k];
    int least = 0;  // the first group that may have the step
    for (int i = 0; i < step.n_inputs; ++i) {
      const Operand& input = step.inputs[i];
      if (input.kind != Operand::Step) continue;
      least = std::max(least, out_.group_of[input.index] + !reads_in_place(step, input, steps_));
    }
    const int group = group_for(step.out.geometry, least);
    out_.groups[group].steps.push_back(k);
    out_.group_of[k] = group;
  }

 private:
  int group_for(const Geometry& geometry, int least) {
    const int n = static_cast<int>(out_.groups.size());
    const auto fits = [&](int g) {
      return out_.groups[g].geometry == geometry && out_.groups[g].steps.size() < kMaxSteps;
    };
    if (least < n && fits(least)) return least;
    for (int g = n - 1; g > least; --g)
      if (fits(g)) return g;
    out_.groups.push_back({geometry, {}});
    return n;
  }

  const std::vector<Step>& steps_;
  Division& out_;
};
}  // namespace

namespace {
void note_last_reads(const std::vector<Step>& steps, const std::vector<int>& wanted, Division& out) {
  std::vector<int> last(steps.size(), -1);
  for (size_t k = 0; k < steps.size(); ++k) {
    if (out.group_of[k] < 0) continue;
    for (int i = 0; i < steps[k].n_inputs; ++i)
      if (const Operand& o = steps[k].inputs[i]; o.kind == Operand::Step)
        last[o.index] = std::max(last[o.index], out.group_of[k]);
  }
  for (int k : wanted) last[k] = -1;
  out.last_read.resize(out.groups.size());
  for (size_t k = 0; k < steps.size(); ++k)
    if (last[k] >= 0 && out.stored[k]) out.last_read[last[k]].push_back(static_cast<int>(k));
}
}  // namespace

bool reads_in_place(const Step& step, const Operand& input, const std::vector<Step>& steps) {
  return input.geometry == steps[input.index].out.geometry && input.geometry == step.out.geometry;
}

Division divide(const std::vector<Step>& steps, const std::vector<int>& wanted) {
  Division out;
  out.group_of.assign(steps.size(), -1);
  out.stored.assign(steps.size(), 0);
  Divider divider(steps, out);
  const std::vector<char> needed = needed_steps(steps, wanted);
  for (size_t k = 0; k < steps.size(); ++k)
    if (needed[k]) divider.add(static_cast<int>(k));
  for (int step : wanted) out.stored[step] = 1;
  for (size_t k = 0; k < steps.size(); ++k) {
    if (!needed[k]) continue;
    const Step& step = steps[k];
    for (int i = 0; i < step.n_inputs; ++i)
      if (const Operand& input = step.inputs[i];
          input.kind == Operand::Step && out.group_of[input.index] != out.group_of[k])
        out.stored[input.index] = 1;
  }
  note_last_reads(steps, wanted, out);
  return out;
}

}  // namespace tl::compiler
