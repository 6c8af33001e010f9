// The longest runs that one code can hold: what their values need is registers, and no mask leaves them.
#include "emission.h"

#include <algorithm>
#include <map>
#include <optional>

#include "emit/fragment.h"

namespace tl::compiler {

namespace {
constexpr int64_t kStreamedBytes = 32 << 20;
constexpr int kLeast = 2;  // actions: of one alone, eager's loop is as good

class AroundNest : public Surroundings {
 public:
  explicit AroundNest(const Nest& nest) : nest_(nest) {}

  bool is_number(int stream, bool in_row) const override {
    const Stream& s = nest_.streams()[stream];
    return in_row ? s.strides[0] == 0
                  : std::all_of(s.strides, s.strides + kMaxDims, [](int64_t stride) { return stride == 0; });
  }
  bool streams(int64_t item) const override {
    return nest_.ndim() <= 1 && nest_.numel() >= kStreamedBytes / item;
  }

 private:
  const Nest& nest_;
};

class Run {
 public:
  Run(const std::vector<Action>& actions, const Surroundings& around, Lane lane, int first, int last)
      : actions_(actions), around_(around), lane_(lane), first_(first), last_(last) {}

  std::optional<EmittedRun::Variant> build(Level level, bool in_row) const {
    Fragment fragment(lane_);
    std::map<std::pair<int, int>, int> value_of;  // by location
    std::vector<TableEntry> elements, numbers, stores;
    std::vector<int> values(actions_.size(), -1);
    for (int i = first_; i < last_; ++i) {
      const Action& a = actions_[i];
      int inputs[TL_LOOP_INPUTS];
      for (int k = 0; k < a.step->n_inputs; ++k) {
        if (const int maker = a.made_by[k]; maker >= first_) {
          inputs[k] = values[maker];
          continue;
        }
        const Location p = a.inputs[k];
        const auto [at, fresh] = value_of.try_emplace({p.kind, p.index}, 0);
        if (fresh) {
          const bool number = p.kind == Location::Stream && around_.is_number(p.index, in_row);
          at->second = fragment.add_source(number);
          (number ? numbers : elements).push_back({p});
        }
        inputs[k] = at->second;
      }
      values[i] = fragment.add(*a.step, inputs);
      if (a.last_use < last_ && a.out.kind != Location::Memory) continue;
      fragment.store(values[i], a.out.kind == Location::Memory && a.last_use < 0 &&
                                    around_.streams(a.step->out.bytes()));
      stores.push_back({a.out});
    }
    return finish(fragment, level, std::move(elements), stores, numbers);
  }

 private:
  static std::optional<EmittedRun::Variant> finish(const Fragment& fragment, Level level,
                                                   std::vector<TableEntry> table,
                                                   const std::vector<TableEntry>& stores,
                                                   const std::vector<TableEntry>& numbers) {
    const std::string key = fragment.key(level);
    Code code = find_code(key);
    if (!code) {
      const std::vector<uint8_t> bytes = fragment.assemble(level);
      if (!bytes.empty()) code = keep_code(key, bytes);
    }
    if (!code) return std::nullopt;
    table.insert(table.end(), stores.begin(), stores.end());
    table.insert(table.end(), numbers.begin(), numbers.end());
    for (const char* number : fragment.numbers()) table.push_back({{}, number});
    return EmittedRun::Variant{code, std::move(table)};
  }

  const std::vector<Action>& actions_;
  const Surroundings& around_;
  Lane lane_;
  int first_, last_;
};

class Emitter {
 public:
  Emitter(const std::vector<Action>& actions, const Surroundings& around, Level level)
      : actions_(actions), around_(around), level_(level) {}

  std::vector<EmittedRun> run() {
    const int n = static_cast<int>(actions_.size());
    for (int i = 0; i < n;) {
      const auto emitted = longest(i, Lane::Float);
      const auto doubles = emitted ? std::nullopt : longest(i, Lane::Double);
      if (emitted) out_.push_back(*emitted);
      if (doubles) out_.push_back(*doubles);
      i = emitted || doubles ? out_.back().last : i + 1;
    }
    return std::move(out_);
  }

 private:
  // Whether an action can follow those from `first` on.
  bool takes(int i, int first, Lane lane) const {
    const Action& a = actions_[i];
    if (!around_.joins(first, i) || !Fragment::takes(*a.step, lane)) return false;
    if (Fragment::gives_mask(*a.step)) return a.out.kind != Location::Memory && is_condition_only(i);
    if (a.step->inputs[0].dtype == TL_DTYPE_OF(TL_CODE_BOOL, 8)) {
      const int maker = a.made_by[0];
      return maker >= first && Fragment::gives_mask(*actions_[maker].step);
    }
    return true;
  }

  bool is_condition_only(int i) const {
    for (int k = i + 1; k <= actions_[i].last_use; ++k)
      for (int input = 0; input < actions_[k].step->n_inputs; ++input)
        if (actions_[k].made_by[input] == i && (input != 0 || actions_[k].step->n_inputs != 3)) return false;
    return true;
  }

  // An end before which no mask is made that is read after it.
  int without_open_masks(int first, int last) const {
    for (int i = first; i < last; ++i)
      if (Fragment::gives_mask(*actions_[i].step) && actions_[i].last_use >= last)
        return without_open_masks(first, i);
    return last;
  }

  std::optional<EmittedRun> longest(int first, Lane lane) {
    int last = first;
    while (last < static_cast<int>(actions_.size()) && takes(last, first, lane)) ++last;
    for (last = without_open_masks(first, last); last - first >= kLeast;
         last = without_open_masks(first, last - std::max((last - first) / 8, 1))) {
      const Run run(actions_, around_, lane, first, last);
      auto in_row = run.build(level_, true);
      if (!in_row) continue;
      auto across = around_.has_tiles_across_rows() ? run.build(level_, false) : in_row;
      if (!across) continue;
      const Assembler facts(level_, lane);
      return EmittedRun{first,
                        last,
                        facts.vector_bytes() / facts.lane_bytes(),
                        facts.lane_bytes(),
                        std::move(*in_row),
                        std::move(*across)};
    }
    return std::nullopt;
  }

  const std::vector<Action>& actions_;
  const Surroundings& around_;
  Level level_;
  std::vector<EmittedRun> out_;
};
}  // namespace

std::vector<EmittedRun> emit_runs(const std::vector<Action>& actions, const Surroundings& around) {
  const Level level = emission_level();
  if (level == Level::None) return {};
  return Emitter(actions, around, level).run();
}
std::vector<EmittedRun> emit_runs(const std::vector<Action>& actions, const Nest& nest) {
  return emit_runs(actions, AroundNest(nest));
}

}  // namespace tl::compiler
