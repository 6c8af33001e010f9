// The plan of a pass: where each operand lies, which buffers are free again, how many elements a tile has.
#include <algorithm>
#include <unordered_map>

#include "pass.h"

namespace tl::compiler {

namespace {
constexpr int64_t kCacheBytes = 32 << 10;  // of the first cache, for the buffers of a tile
constexpr int64_t kMaxTile = 1024, kMinTile = 256;
constexpr int64_t kWholeTile = 8192;  // where all values stay in registers
}  // namespace

class Pass::Planner {
 public:
  Planner(Pass& pass, const std::vector<Step>& steps, const Division& division, const Group& group)
      : pass_(pass), steps_(steps), division_(division) {
    for (int k : group.steps)
      for (int i = 0; i < steps[k].n_inputs; ++i)
        if (const Operand& o = steps[k].inputs[i]; o.kind == Operand::Step) last_use_[o.index] = k;
    for (int k : group.steps) add(k);
    pass.nest_.merge();
    pass.emitted_ = emit_runs(pass.actions_, pass.nest_);
    choose_tile();
  }

 private:
  void add(int k) {
    const Step& step = steps_[k];
    Action action{&step, {}, {}};
    const int index = static_cast<int>(pass_.actions_.size());
    for (int i = 0; i < step.n_inputs; ++i) {
      action.inputs[i] = locate_input(k, step.inputs[i]);
      const auto maker = action_of_.find(step.inputs[i].index);
      if (step.inputs[i].kind != Operand::Step || maker == action_of_.end()) continue;
      action.made_by[i] = maker->second;
      pass_.actions_[maker->second].last_use = index;
    }
    action_of_[k] = index;
    // A loop may write over what it reads if element lies on element.
    bool in_place = !step.out.convert;
    for (int i = 0; i < step.n_inputs; ++i)
      in_place &= !step.inputs[i].convert && step.inputs[i].bytes() == step.out.bytes();
    if (in_place) free_slots(k, step);
    action.out = locate_output(k, step);
    if (!in_place) free_slots(k, step);
    location_of_[k] = action.out;
    note_scratch(step);
    pass_.actions_.push_back(action);
  }

  Location locate_input(int k, const Operand& o) {
    if (o.kind == Operand::Number) return {Location::Stream, add_number(o)};
    if (o.kind == Operand::Step && division_.group_of[o.index] == division_.group_of[k])
      return location_of_.at(o.index);
    return {Location::Stream, pass_.nest_.add(o)};
  }

  // A number in the type that the loop reads.
  int add_number(const Operand& o) {
    pass_.numbers_.push_back(std::make_unique<Number>());
    char* const to = pass_.numbers_.back()->bytes;
    std::memcpy(to, o.number, sizeof o.number);
    if (o.convert) {
      alignas(16) char from[kMaxItem];
      std::memcpy(from, o.number, sizeof from);
      char* const data[] = {to, from};
      const int64_t strides[] = {o.loop_bytes(), o.bytes(), 0, 0};
      o.convert(data, strides, 1, 1, nullptr);
    }
    return pass_.nest_.add_number(to, o.loop_bytes());
  }

  // Buffers of results that no later step reads.
  void free_slots(int k, const Step& step) {
    for (int i = 0; i < step.n_inputs; ++i) {
      const Operand& o = step.inputs[i];
      if (o.kind != Operand::Step || last_use_.at(o.index) != k) continue;
      const auto at = location_of_.find(o.index);
      if (at == location_of_.end() || at->second.kind != Location::Slot) continue;
      auto& free = free_[o.bytes()];
      if (std::ranges::find(free, at->second.index) == free.end()) free.push_back(at->second.index);
    }
  }

  // Not a buffer of elements of another size: the last elements of a tile, which eager's loops compute after
  // a run of code, would fall on others.
  Location locate_output(int k, const Step& step) {
    pass_.item_ = std::max({pass_.item_, step.out.bytes(), step.out.loop_bytes()});
    for (int i = 0; i < step.n_inputs; ++i)
      pass_.item_ = std::max({pass_.item_, step.inputs[i].bytes(), step.inputs[i].loop_bytes()});
    if (division_.stored[k]) {
      pass_.targets_.push_back({k, step.out.bytes(), nullptr});
      return {Location::Memory, static_cast<int>(pass_.targets_.size()) - 1};
    }
    auto& free = free_[step.out.bytes()];
    if (free.empty()) return {Location::Slot, pass_.n_slots_++};
    const int slot = free.back();
    free.pop_back();
    return {Location::Slot, slot};
  }

  void choose_tile() {
    int64_t buffers = pass_.n_slots_ + static_cast<int64_t>(pass_.targets_.size());
    for (const Stream& s : pass_.nest_.streams()) {
      buffers += s.strides[0] != 0;
      pass_.item_ = std::max(pass_.item_, s.item);
    }
    const int64_t most = kCacheBytes / (std::max<int64_t>(buffers, 1) * pass_.item_) / 64 * 64;
    pass_.tile_ = pass_.nest_.tile(std::clamp(most, kMinTile, kMaxTile));
    pass_.is_one_run_ = pass_.emitted_.size() == 1 && pass_.emitted_[0].last - pass_.emitted_[0].first ==
                                                          static_cast<int>(pass_.actions_.size());
    if (pass_.is_one_run_ || is_one_loop()) pass_.tile_ = pass_.nest_.tile(kWholeTile);
  }

  // A loop from memory to memory, which no buffer limits.
  bool is_one_loop() const {
    return pass_.actions_.size() == 1 && pass_.n_scratch_ == 0 &&
           std::ranges::all_of(pass_.nest_.streams(),
                               [](const Stream& s) { return s.is_flat || s.kind == Operand::Number; });
  }

  void note_scratch(const Step& step) {
    int n = step.out.convert ? 1 : 0;
    for (int i = 0; i < step.n_inputs; ++i)
      n += step.inputs[i].convert && step.inputs[i].kind != Operand::Number;
    pass_.n_scratch_ = std::max(pass_.n_scratch_, n);
  }

  Pass& pass_;
  const std::vector<Step>& steps_;
  const Division& division_;
  std::unordered_map<int, Location> location_of_;
  std::unordered_map<int, int> last_use_, action_of_;
  std::unordered_map<int64_t, std::vector<int>> free_;  // by the bytes of an element
};

Pass::Pass(const std::vector<Step>& steps, const Division& division, const Group& group)
    : nest_(group.geometry) {
  Planner(*this, steps, division, group);
}

void Pass::bind(const std::vector<const char*>& inputs, const std::vector<char*>& results) {
  for (Stream& s : nest_.streams())
    if (s.kind != Operand::Number)
      s.base = (s.kind == Operand::Input ? inputs[s.index] : results[s.index]) + s.offset;
  for (Target& t : targets_) t.base = results[t.step];
}

int64_t Pass::emitted_loops() const {
  int64_t n = 0;
  for (const EmittedRun& e : emitted_) n += e.last - e.first;
  return n;
}

}  // namespace tl::compiler
