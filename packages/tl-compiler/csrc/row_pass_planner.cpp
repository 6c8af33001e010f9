// The plan of a pass over rows: where each operand lies beside the rows, which buffers are free again.
#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "row_pass.h"

namespace tl::compiler {

namespace {
constexpr int64_t kTileBytes = 96 << 10;  // of the second cache, for the buffers of a tile
constexpr int64_t kMaxElements = 8192;    // of the longest buffer: enough for the cost of a call
}  // namespace

class RowPass::Around : public Surroundings {
 public:
  explicit Around(const RowPass& pass) : pass_(pass) {}

  bool is_number(int stream, bool) const override { return pass_.streams_[stream].inner == 0; }
  bool has_tiles_across_rows() const override { return false; }
  // One length of rows, and nothing that is read where the run has not come yet.
  bool joins(int first, int i) const override {
    const RowAction &a = pass_.row_actions_[first], &b = pass_.row_actions_[i];
    if (a.columns == 1 || a.columns != b.columns || b.last_apart >= first) return false;
    const Step& step = *pass_.actions_[i].step;
    for (int k = 0; k < step.n_inputs; ++k) {
      const int64_t inner = pass_.streams_[pass_.actions_[i].inputs[k].index].inner;
      if (inner != 0 && inner != step.inputs[k].bytes()) return false;
    }
    return true;
  }

 private:
  const RowPass& pass_;
};

class RowPass::Planner {
 public:
  Planner(RowPass& pass, const std::vector<Step>& steps, const Division& division, const Group& group)
      : pass_(pass), steps_(steps), division_(division), rows_(group.rows) {
    for (int k : group.steps) {
      action_of_[k] = static_cast<int>(action_of_.size());
      for (int i = 0; i < steps[k].n_inputs; ++i)
        if (const Operand& o = steps[k].inputs[i]; o.kind == Operand::Step) last_use_[o.index] = k;
    }
    for (int k : group.steps) add(k);
    pass.emitted_ = emit_runs(pass.actions_, Around(pass));
    choose_tile();
  }

 private:
  // The action of a step: the rows of its operands, and the buffers that they take.
  void add(int k) {
    const Step& step = steps_[k];
    Action action{&step, {}, {}};
    const Step& owner = step.result_of < 0 ? step : steps_[step.result_of];
    RowAction row{
        owner.call ? owner.call->row_of(owner.inputs[0].geometry) : row_length(step.out.geometry, rows_),
        step.call ? step.call->over_matrix() : nullptr};
    for (int i = 0; i < step.n_inputs; ++i) {
      action.inputs[i] = {Location::Stream, add_stream(step, i, row)};
      const Operand& o = step.inputs[i];
      if (o.kind != Operand::Step || division_.group_of[o.index] != division_.group_of[k]) continue;
      const int maker = action_of_.at(o.index);
      action.made_by[i] = maker;
      pass_.actions_[maker].last_use = static_cast<int>(pass_.actions_.size());
      if (!(o.geometry == steps_[o.index].out.geometry) || !(o.geometry == step.out.geometry))
        row.last_apart = std::max(row.last_apart, maker);
    }
    const int64_t row_bytes = row_length(step.out.geometry, rows_) * step.out.bytes();
    const bool in_place = may_write_in_place(step);
    if (in_place) free_slots(k, step);
    action.out = locate_output(k, row_bytes);
    if (!in_place) free_slots(k, step);
    location_of_[k] = action.out;
    note_scratch(step, row.columns);
    pass_.actions_.push_back(action);
    pass_.row_actions_.push_back(std::move(row));
  }

  static bool may_write_in_place(const Step& step) {
    bool out = !step.out.convert && !step.call;
    for (int i = 0; i < step.n_inputs; ++i)
      out = out && !step.inputs[i].convert && step.inputs[i].bytes() == step.out.bytes();
    return out;
  }

  // ---- what is read
  int add_stream(const Step& step, int i, const RowAction& row) {
    const Operand& o = step.inputs[i];
    if (o.kind == Operand::Number) return put({Stream::Number, add_number(o)});
    Stream s;
    s.kind = o.kind == Operand::Input ? Stream::Input : Stream::Result;
    s.index = o.index;
    s.offset = o.geometry.offset * o.bytes();
    RowOperand operand;
    if (step.call) {
      operand = {1, 1, {rows_}, {row.columns}};
    } else {
      lies_in_rows(o.geometry, step.out.geometry, rows_, operand);
    }
    s.inner = operand.inner * o.bytes();
    s.ndim = operand.ndim;
    for (int d = 0; d < s.ndim; ++d) {
      s.sizes[d] = operand.sizes[d];
      s.strides[d] = operand.strides[d] * o.bytes();
    }
    const auto at = location_of_.find(o.index);
    if (o.kind != Operand::Step || at == location_of_.end() || at->second.kind != Location::Slot)
      return put(s);
    s.kind = Stream::Slot;
    s.index = at->second.index;
    if (!step.call && !(o.geometry == step.out.geometry && o.geometry == steps_[o.index].out.geometry))
      stays_.insert(s.index);
    return put(s);
  }
  int put(const Stream& s) {
    const auto at = std::ranges::find(pass_.streams_, s);
    if (at != pass_.streams_.end()) return static_cast<int>(at - pass_.streams_.begin());
    pass_.streams_.push_back(s);
    return static_cast<int>(pass_.streams_.size()) - 1;
  }
  // A number in the type that the loop reads.
  int add_number(const Operand& o) {
    pass_.numbers_.push_back(std::make_unique<Number>());
    char* const to = pass_.numbers_.back()->bytes;
    std::memcpy(to, o.number, sizeof o.number);
    if (o.convert) {
      alignas(16) char from[sizeof o.number];
      std::memcpy(from, o.number, sizeof from);
      char* const data[] = {to, from};
      const int64_t strides[] = {o.loop_bytes(), o.bytes(), 0, 0};
      o.convert(data, strides, 1, 1, nullptr);
    }
    return static_cast<int>(pass_.numbers_.size()) - 1;
  }

  // ---- where results go
  // Buffers of results that no later step reads. One that is read out of step stays.
  void free_slots(int k, const Step& step) {
    for (int i = 0; i < step.n_inputs; ++i) {
      const Operand& o = step.inputs[i];
      if (o.kind != Operand::Step || last_use_.at(o.index) != k) continue;
      const auto at = location_of_.find(o.index);
      if (at == location_of_.end() || at->second.kind != Location::Slot || stays_.count(at->second.index))
        continue;
      auto& free = free_[pass_.slots_[at->second.index].row];
      if (std::ranges::find(free, at->second.index) == free.end()) free.push_back(at->second.index);
    }
  }

  Location locate_output(int k, int64_t row_bytes) {
    if (division_.stored[k]) {
      pass_.targets_.push_back({row_bytes, 0, k});
      return {Location::Memory, static_cast<int>(pass_.targets_.size()) - 1};
    }
    auto& free = free_[row_bytes];
    if (free.empty()) {
      pass_.slots_.push_back({row_bytes});
      return {Location::Slot, static_cast<int>(pass_.slots_.size()) - 1};
    }
    const int slot = free.back();
    free.pop_back();
    return {Location::Slot, slot};
  }

  void note_scratch(const Step& step, int64_t columns) {
    columns_ = std::max(columns_, columns);
    if (step.out.convert) scratch_row_ = std::max(scratch_row_, columns * step.out.loop_bytes());
    for (int i = 0; i < step.n_inputs; ++i)
      if (step.inputs[i].convert)
        scratch_row_ = std::max(scratch_row_, columns * step.inputs[i].loop_bytes());
  }

  void choose_tile() {
    int64_t row_bytes = scratch_row_;
    for (const Buffer& b : pass_.slots_) row_bytes += b.row;
    for (const Buffer& b : pass_.targets_) row_bytes += b.row;
    for (const Stream& s : pass_.streams_)
      if (s.kind == Stream::Input) row_bytes += columns_ * std::min<int64_t>(s.inner, 8);
    int64_t tile = std::min(kMaxElements / columns_, kTileBytes / std::max<int64_t>(row_bytes, 1));
    tile = std::clamp<int64_t>(tile, 1, rows_);
    pass_.tile_ = tile;
    const auto whole_lines = [](int64_t bytes) { return (bytes + 63) / 64 * 64 + 64; };
    for (Buffer& b : pass_.slots_) {
      b.at = pass_.slot_bytes_;
      pass_.slot_bytes_ += whole_lines(tile * b.row);
    }
    pass_.scratch_ = scratch_row_ ? whole_lines(tile * scratch_row_) : 0;
  }

  RowPass& pass_;
  const std::vector<Step>& steps_;
  const Division& division_;
  int64_t rows_, columns_ = 1, scratch_row_ = 0;
  std::unordered_map<int, Location> location_of_;
  std::unordered_map<int, int> last_use_, action_of_;
  std::map<int64_t, std::vector<int>> free_;  // by the bytes of a row
  std::unordered_set<int> stays_;
};

RowPass::RowPass(const std::vector<Step>& steps, const Division& division, const Group& group)
    : rows_(group.rows) {
  Planner(*this, steps, division, group);
}

void RowPass::bind(const std::vector<const char*>& inputs, const std::vector<char*>& results) {
  for (Stream& s : streams_) {
    if (s.kind == Stream::Number) s.base = numbers_[s.index]->bytes;
    if (s.kind == Stream::Input) s.base = inputs[s.index] + s.offset;
    if (s.kind == Stream::Result) s.base = results[s.index] + s.offset;
  }
  for (Buffer& t : targets_) t.base = results[t.step];
}

int64_t RowPass::emitted_loops() const {
  int64_t n = 0;
  for (const EmittedRun& e : emitted_) n += e.last - e.first;
  return n;
}

}  // namespace tl::compiler
