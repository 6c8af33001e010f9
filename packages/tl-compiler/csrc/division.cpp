// Each step joins the group of what it reads where it can, and else the last that computes such elements. The
// group of what a call reads row by row becomes a group over rows.
#include "division.h"

#include <algorithm>
#include <utility>

#include "call.h"
#include "rows.h"

namespace tl::compiler {

namespace {
constexpr size_t kMaxSteps = 64;  // of a group: what it reads and writes has room in the first cache
// Kernels treat many short rows together, and cut a few long ones; of the others, each row is by itself.
constexpr int64_t kShortRow = 32, kLongestRow = 65536;
// Of loops: shorter rows are gathered, and of wider ones a part is enough for a tile.
constexpr int64_t kMiddlingRow = 64, kWideRow = 1024;

std::vector<char> needed_steps(const std::vector<Step>& steps, const std::vector<int>& wanted) {
  std::vector<char> needed(steps.size());
  for (int step : wanted) needed[step] = 1;
  for (size_t k = steps.size(); k-- > 0;) {
    if (!needed[k]) continue;
    const Step& step = steps[k];
    if (step.result_of >= 0) needed[step.result_of] = 1;
    for (int i = 0; i < step.n_inputs; ++i)
      if (step.inputs[i].kind == Operand::Step) needed[step.inputs[i].index] = 1;
  }
  return needed;
}

// Whether a step reads an element of another's result where it writes its own.
bool reads_in_place(const Step& step, const Operand& input, const std::vector<Step>& steps) {
  return input.geometry == steps[input.index].out.geometry && input.geometry == step.out.geometry;
}

class Divider {
 public:
  Divider(const std::vector<Step>& steps, Division& out) : steps_(steps), out_(out) {}

  void add(int k) {
    const Step& step = steps_[k];
    if (step.result_of >= 0) return put(k, out_.group_of[step.result_of]);
    const int64_t rows = step.call ? rows_of(step) : 0;
    if (step.call && !rows) return put(k, fresh({{}, {}, 0, true}));
    int least = 0;  // the first group that may have the step
    for (int i = 0; i < step.n_inputs; ++i) {
      const Operand& input = step.inputs[i];
      if (input.kind != Operand::Step) continue;
      const int group = out_.group_of[input.index];
      const bool follows = step.call ? takes_rows(step, i, group, rows) : reads_here(step, input, group);
      least = std::max(least, group + !follows);
    }
    put(k, step.call ? group_of_call(rows, least) : group_for(step, least));
  }

  // A call that nothing is computed with runs on the whole tensors. Loops over rows of a few hundred
  // elements, some of them apart or the same for all rows, take several rows at a time.
  void finish() {
    for (Group& group : out_.groups) {
      const auto first = group.steps.begin();
      if (!group.rows && !group.is_call) group.rows = middling_rows(group);
      if (!group.rows || !steps_[*first].call) continue;
      const bool alone =
          std::all_of(first + 1, group.steps.end(), [&](int k) { return steps_[k].result_of == *first; });
      if (alone) group.rows = 0, group.is_call = true;
    }
  }

 private:
  void put(int k, int group) {
    out_.groups[group].steps.push_back(k);
    out_.group_of[k] = group;
  }
  int fresh(Group group) {
    out_.groups.push_back(std::move(group));
    return static_cast<int>(out_.groups.size()) - 1;
  }
  bool has_room(int g) const { return out_.groups[g].steps.size() < kMaxSteps; }

  int64_t middling_rows(const Group& group) const {
    const Geometry& g = group.geometry;
    const int64_t columns = g.ndim < 2 ? 0 : g.sizes[g.ndim - 1];
    if (columns < kMiddlingRow || columns >= kWideRow || !g.is_row_major()) return 0;
    const int64_t rows = g.numel() / columns;
    // Whether an operand is neither a number nor dense beside the result.
    const auto is_apart = [&](const Operand& o) {
      const bool dense = o.geometry.has_sizes_of(g) && o.geometry.is_row_major();
      return o.kind != Operand::Number && o.geometry.numel() > 1 && !dense;
    };
    const auto has_apart = [&](int k) {
      const Step& step = steps_[k];
      return std::any_of(step.inputs, step.inputs + step.n_inputs, is_apart);
    };
    const auto fits = [&](int k) { return fits_rows(steps_[k], rows); };
    const bool takes_rows = rows > 1 && std::ranges::any_of(group.steps, has_apart);
    return takes_rows && std::ranges::all_of(group.steps, fits) ? rows : 0;
  }

  // ---- loops
  bool reads_here(const Step& step, const Operand& input, int g) const {
    const Group& group = out_.groups[g];
    if (group.is_call) return false;
    if (!group.rows) return reads_in_place(step, input, steps_);
    const int64_t columns = row_length(step.out.geometry, group.rows);
    RowOperand operand;
    return columns && lies_in_rows(input.geometry, step.out.geometry, group.rows, operand) &&
           lies_in_same_row(operand, input.geometry.offset, columns,
                            row_length(steps_[input.index].out.geometry, group.rows));
  }
  bool fits_rows(const Step& step, int64_t rows) const {
    if (!row_length(step.out.geometry, rows)) return false;
    RowOperand operand;
    for (int i = 0; i < step.n_inputs; ++i)
      if (step.inputs[i].kind != Operand::Number &&
          !lies_in_rows(step.inputs[i].geometry, step.out.geometry, rows, operand))
        return false;
    return true;
  }
  int group_for(const Step& step, int least) {
    const int n = static_cast<int>(out_.groups.size());
    const auto fits = [&](int g) {
      const Group& group = out_.groups[g];
      if (group.is_call || !has_room(g)) return false;
      return group.rows ? fits_rows(step, group.rows) : group.geometry == step.out.geometry;
    };
    if (least < n && fits(least)) return least;
    for (int g = n - 1; g > least; --g)
      if (fits(g)) return g;
    return fresh({step.out.geometry, {}});
  }

  // ---- calls
  // The number of rows on which a call works; 0 if it has to see whole tensors.
  int64_t rows_of(const Step& step) const {
    const Geometry& input = step.inputs[0].geometry;
    const int64_t columns = step.call->row_of(input);
    if (columns <= kShortRow || columns > kLongestRow) return 0;
    const int64_t rows = input.numel() / columns;
    if (rows < 2 || !row_length(step.out.geometry, rows)) return 0;
    for (int i = 1; i < step.n_inputs; ++i) {
      const Geometry& other = step.inputs[i].geometry;
      if (!other.is_row_major() || other.numel() != input.numel()) return 0;
    }
    return rows;
  }
  // Whether a call finds its input row by row in a group, which then works on rows.
  bool takes_rows(const Step& step, int i, int g, int64_t rows) const {
    const Operand& input = step.inputs[i];
    if (input.geometry.offset || input.geometry.numel() != steps_[input.index].out.geometry.numel())
      return false;
    return has_room(g) && may_have_rows(g, rows) && row_length(steps_[input.index].out.geometry, rows);
  }
  bool may_have_rows(int g, int64_t rows) const {
    const Group& group = out_.groups[g];
    if (group.is_call || group.rows) return group.rows == rows;
    return std::ranges::all_of(group.steps, [&](int k) { return fits_rows(steps_[k], rows); });
  }
  int group_of_call(int64_t rows, int least) {
    const int n = static_cast<int>(out_.groups.size());
    for (int g = least; g < n; ++g) {
      if (!has_room(g) || !may_have_rows(g, rows)) continue;
      out_.groups[g].rows = rows;
      return g;
    }
    return fresh({{}, {}, rows});
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

Division divide(const std::vector<Step>& steps, const std::vector<int>& wanted) {
  Division out;
  out.group_of.assign(steps.size(), -1);
  out.stored.assign(steps.size(), 0);
  Divider divider(steps, out);
  const std::vector<char> needed = needed_steps(steps, wanted);
  for (size_t k = 0; k < steps.size(); ++k)
    if (needed[k]) divider.add(static_cast<int>(k));
  divider.finish();
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
