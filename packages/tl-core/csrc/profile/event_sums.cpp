// Sums of a recording: events come outermost first, own times by subtraction, groups by what is alike.
#include "profile/event_sums.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "dispatch/recorded_values.h"

namespace tl {

namespace {
constexpr size_t kNone = SIZE_MAX;

// ---- which events are alike -------------------------------------------------------------------------------
// Puts down what values look like, wherever they lie; `numbers`: and what those are that are no tensors.
class Description {
 public:
  Description(std::string& to, bool numbers) : to_(to), numbers_(numbers) {}

  void add(const Event& e) {
    if (e.kind == EventKind::Memory) return;
    RecordedValues from(e.values());
    for (int i = 0; i < e.n_values; ++i) value(from);
  }

 private:
  void word(int64_t w) { to_.append(reinterpret_cast<const char*>(&w), sizeof w); }
  void words(RecordedValues& from, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      const int64_t w = from.integer();
      if (numbers_) word(w);
    }
  }

  // A key of what a value looks like: kinds and sizes of tensors; with numbers_, the numbers and texts as
  // well.
  void value(RecordedValues& from) {
    const RecordedValues::Head head = from.next_head();
    word(head.tag);
    switch (head.tag) {
      case TL_NONE:
        return;
      case TL_TENSOR: {
        const RecordedTensor t = from.tensor(head);
        word(static_cast<int64_t>(t.sizes.size()));
        for (const int64_t n : t.sizes) word(n);
        return;
      }
      case TL_TENSOR_LIST:
      case TL_SCALAR_LIST:
      case TL_STRING_LIST:
        word(head.len);
        for (uint32_t i = 0; i < head.len; ++i) value(from);
        return;
      case TL_STRING:
      case TL_BOOL_LIST: {
        const std::string_view text = from.text(head);
        if (!numbers_) return;
        word(head.len);
        to_ += text;
        return;
      }
      case TL_INT_LIST:
      case TL_FLOAT_LIST:
        if (numbers_) word(head.len);
        return words(from, head.len);
      default:
        return words(from, head.tag == TL_COMPLEX ? 2 : 1);
    }
  }

  std::string& to_;
  bool numbers_;
};

// Numbers for what is alike, from 0.
class Kinds {
 public:
  explicit Kinds(const SumOptions& options) : options_(options) {}

  size_t of(const Event& e) {
    text_.clear();
    put(static_cast<int64_t>(e.kind));
    put(reinterpret_cast<intptr_t>(e.kind == EventKind::Memory ? nullptr : e.what));
    put(options_.stacks ? e.stack : 0);
    put(e.text_bytes);
    text_ += e.text();
    if (e.kind == EventKind::Range)
      Description(text_, true).add(e);  // says what it was given
    else if (options_.shapes || options_.operations)
      Description(text_, static_cast<bool>(options_.operations)).add(e);
    return numbers_.try_emplace(text_, numbers_.size()).first->second;
  }

 private:
  void put(int64_t w) { text_.append(reinterpret_cast<const char*>(&w), sizeof w); }

  const SumOptions& options_;
  std::string text_;
  std::unordered_map<std::string, size_t> numbers_;
};

// ---- what each event has ----------------------------------------------------------------------------------
bool is_addition(const Event& e) {
  if (e.kind != EventKind::Operator) return false;
  const std::string name = event_name(e);
  return name == "aten::add" || name == "aten::add_" || name == "aten::mul" || name == "aten::mul_";
}

class Sums {
 public:
  Sums(const Recording& recording, const SumOptions& options)
      : events_(recording.events()),
        options_(options),
        outer_(events_.size(), kNone),
        inner_time_(events_.size()),
        memory_(events_.size()),
        own_memory_(events_.size()),
        operations_(options.operations ? events_.size() : 0),
        kinds_(options) {}

  std::vector<EventSum> make() {
    for (size_t i = 0; i < events_.size(); ++i) read(i);
    for (size_t i = events_.size(); i-- > 0;) {
      memory_[i] += own_memory_[i];
      if (outer_[i] != kNone && counts(i)) memory_[outer_[i]] += memory_[i];
    }
    for (size_t i = 0; i < events_.size(); ++i)
      if (is_counted_[i]) add(i);
    std::stable_sort(sums_.begin(), sums_.end(),
                     [&](const EventSum& a, const EventSum& b) { return start(a.first) < start(b.first); });
    return std::move(sums_);
  }

 private:
  const Event& event(size_t i) const { return *events_[i].event; }
  int64_t start(size_t i) const { return event(i).start; }
  int64_t duration(size_t i) const { return events_[i].end - start(i); }

  bool counts(size_t i) const {
    switch (event(i).kind) {
      case EventKind::Operator:
      case EventKind::Node:
      case EventKind::Evaluation:
      case EventKind::Range:
      case EventKind::Mark:
        return true;
      case EventKind::Module:
        return options_.modules;
      default:
        return false;
    }
  }

  // Events come outermost first, so that what is around one is known.
  void read(size_t i) {
    if (const int64_t p = events_[i].parent; p >= 0) {
      const auto around = static_cast<size_t>(p);
      outer_[i] = counts(around) ? around : outer_[around];
    }
    const bool memory = event(i).kind == EventKind::Memory;
    is_counted_.push_back(counts(i) || (memory && outer_[i] == kNone));
    if (memory) own_memory_[outer_[i] == kNone ? i : outer_[i]] += event(i).number;
    if (!counts(i)) return;
    if (outer_[i] != kNone) inner_time_[outer_[i]] += duration(i);
    if (options_.operations && event(i).kind == EventKind::Operator) count_operations(i);
  }

  // Of nested operators the innermost counts; a sum inside a product is a part of it.
  void count_operations(size_t i) {
    const int64_t found = operations_of(i);
    if (!found) return;
    for (size_t o = outer_[i]; o != kNone; o = outer_[o]) {
      if (!operations_[o]) continue;
      if (is_addition(event(i))) return;
      operations_[o] = 0;
    }
    operations_[i] = found;
  }

  int64_t operations_of(size_t i) {
    const size_t kind = kinds_.of(event(i));
    const auto [it, fresh] = operations_by_kind_.try_emplace(kind, 0);
    if (fresh) it->second = options_.operations(i);
    return it->second;
  }

  void add(size_t i) {
    const auto [it, fresh] = slots_.try_emplace(kinds_.of(event(i)), sums_.size());
    if (fresh) sums_.push_back({i});
    EventSum& sum = sums_[it->second];
    if (start(i) < start(sum.first)) sum.first = i;
    ++sum.count;
    sum.time += duration(i);
    sum.own_time += duration(i) - inner_time_[i];
    sum.memory += memory_[i];
    sum.own_memory += own_memory_[i];
    if (!operations_.empty()) sum.operations += operations_[i];
  }

  const std::vector<PlacedEvent>& events_;
  const SumOptions& options_;
  std::vector<size_t> outer_;  // the next event around one that counts
  std::vector<int64_t> inner_time_, memory_, own_memory_, operations_;
  std::vector<bool> is_counted_;
  Kinds kinds_;
  std::unordered_map<size_t, int64_t> operations_by_kind_;
  std::unordered_map<size_t, size_t> slots_;
  std::vector<EventSum> sums_;
};
}  // namespace

std::vector<EventSum> sum_events(const Recording& recording, const SumOptions& options) {
  return Sums(recording, options).make();
}

}  // namespace tl
