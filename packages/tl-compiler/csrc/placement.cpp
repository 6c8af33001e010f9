// The arena is planned by size (Pisarchyk and Lee, "Efficient memory management for deep neural net
// inference", 2020): the largest temporary first, each at the lowest offset that is free as long as the
// temporary is read.
#include "placement.h"

#include <algorithm>

namespace tl::compiler {

namespace {
constexpr int64_t kAlignment = 64;

// Results that follow one another in the same memory, from the group that writes the first to the last that
// reads.
struct Chain {
  int root;
  int64_t bytes;
  int first, last;
  bool in_arena = true;  // neither held by somebody nor a call's
  int64_t offset = 0;
};

class Placer {
 public:
  Placer(const std::vector<Step>& steps, const std::vector<int>& wanted, const Division& division)
      : steps_(steps), division_(division), is_wanted_(steps.size()), last_(steps.size(), -1) {
    out_.donors.assign(steps.size(), -1);
    out_.offsets.assign(steps.size(), -1);
    for (int k : wanted) is_wanted_[k] = 1;
    for (size_t g = 0; g < division.last_read.size(); ++g)
      for (int k : division.last_read[g]) last_[k] = static_cast<int>(g);
  }

  Placement plan() {
    for (size_t g = 0; g < division_.groups.size(); ++g) reuse_memory(static_cast<int>(g));
    if (!division_.groups.empty()) offer_inputs(division_.groups.back());
    find_chains();
    assign_offsets();
    if (peak(true) <= peak(false)) return write(), std::move(out_);
    out_.bytes = 0, out_.last_group = -1;
    return std::move(out_);
  }

 private:
  bool has_call_group(int k) const { return division_.groups[division_.group_of[k]].is_call; }

  // Results that somebody holds come first: each saves an allocation that lasts.
  void reuse_memory(int g) {
    const Group& group = division_.groups[g];
    if (group.is_call) return;
    std::vector<int> free = division_.last_read[g];
    std::erase_if(free, [&](int j) { return has_call_group(j); });
    for (const char wanted : {1, 0})
      for (int k : group.steps) {
        if (!division_.stored[k] || is_wanted_[k] != wanted) continue;
        const auto j = std::ranges::find_if(free, [&](int other) { return may_reuse(group, k, other); });
        if (j == free.end()) continue;
        out_.donors[k] = *j;
        free.erase(j);
      }
  }

  bool may_reuse(const Group& group, int k, int j) const {
    return steps_[k].out.dtype == steps_[j].out.dtype && steps_[k].out.geometry == steps_[j].out.geometry &&
           reads_in_place(group, k, Operand::Step, j);
  }

  // Whether the group reads each element where step k writes, and not after that.
  bool reads_in_place(const Group& group, int k, Operand::Kind kind, int index) const {
    const Operand& out = steps_[k].out;
    bool reads = false;
    for (int reader : group.steps)
      for (int i = 0; i < steps_[reader].n_inputs; ++i) {
        const Operand& o = steps_[reader].inputs[i];
        if (o.kind != kind || o.index != index) continue;
        const bool in_place = o.geometry == out.geometry && o.dtype == out.dtype &&
                              (steps_[reader].call || steps_[reader].out.geometry == out.geometry);
        if (reader > k || !in_place) return false;
        reads = true;
      }
    return reads;
  }

  // An input that is overwritten cannot be read again, so no later group may fail. Calls may fail themselves.
  void offer_inputs(const Group& last) {
    if (last.is_call || last.rows) return;
    for (int k : last.steps) {
      if (!division_.stored[k] || out_.donors[k] >= 0) continue;
      for (int reader : last.steps)
        for (int i = 0; i < steps_[reader].n_inputs; ++i)
          if (const Operand& o = steps_[reader].inputs[i];
              o.kind == Operand::Input && reads_in_place(last, k, Operand::Input, o.index))
            out_.offers.push_back({k, o.index});
    }
  }

  void find_chains() {
    std::vector<int> chain_of(steps_.size(), -1);
    for (size_t k = 0; k < steps_.size(); ++k) {
      const int g = division_.group_of[k];
      if (g < 0 || !division_.stored[k]) continue;
      const int from = out_.donors[k];
      if (from < 0) {
        const int64_t bytes = steps_[k].out.geometry.numel() * steps_[k].out.bytes();
        chains_.push_back({static_cast<int>(k), (bytes + kAlignment - 1) / kAlignment * kAlignment, g, g});
      }
      Chain& chain = chains_[chain_of[k] = from < 0 ? static_cast<int>(chains_.size()) - 1 : chain_of[from]];
      chain.last = is_wanted_[k] ? static_cast<int>(division_.groups.size()) - 1 : last_[k];
      chain.in_arena = !is_wanted_[k] && !division_.groups[g].is_call;
    }
  }

  static bool overlap(const Chain& a, const Chain& b) { return a.first <= b.last && b.first <= a.last; }

  void assign_offsets() {
    std::vector<Chain*> order, done;
    for (Chain& chain : chains_)
      if (chain.in_arena)
        order.insert(std::ranges::upper_bound(order, chain.bytes, std::ranges::greater(), &Chain::bytes),
                     &chain);
    for (Chain* chain : order) {
      for (const Chain* other : done)  // by their offsets
        if (overlap(*chain, *other) && other->offset < chain->offset + chain->bytes)
          chain->offset = std::max(chain->offset, other->offset + other->bytes);
      done.insert(std::ranges::upper_bound(done, chain->offset, {}, &Chain::offset), chain);
      out_.bytes = std::max(out_.bytes, chain->offset + chain->bytes);
      out_.last_group = std::max(out_.last_group, chain->last);
    }
  }

  // Bytes of all results at a time, at most: with the arena, or with memory for each temporary by itself.
  int64_t peak(bool with_arena) const {
    int64_t most = 0;
    int begin = out_.last_group + 1;
    for (const Chain& chain : chains_)
      if (chain.in_arena) begin = std::min(begin, chain.first);
    for (int g = 0; g < static_cast<int>(division_.groups.size()); ++g) {
      int64_t bytes = with_arena && g >= begin && g <= out_.last_group ? out_.bytes : 0;
      for (const Chain& chain : chains_)
        if (chain.first <= g && g <= chain.last && !(chain.in_arena && with_arena)) bytes += chain.bytes;
      most = std::max(most, bytes);
    }
    return most;
  }

  void write() {
    for (const Chain& chain : chains_)
      if (chain.in_arena) out_.offsets[chain.root] = chain.offset;
    for (size_t k = 0; k < steps_.size(); ++k)
      if (out_.donors[k] >= 0) out_.offsets[k] = out_.offsets[out_.donors[k]];
  }

  const std::vector<Step>& steps_;
  const Division& division_;
  std::vector<char> is_wanted_;
  std::vector<int> last_;  // a step's: the last group that reads its result
  std::vector<Chain> chains_;
  Placement out_;
};
}  // namespace

Placement plan_memory(const std::vector<Step>& steps, const std::vector<int>& wanted,
                      const Division& division) {
  return Placer(steps, wanted, division).plan();
}

}  // namespace tl::compiler
