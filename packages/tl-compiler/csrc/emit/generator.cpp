// Registers for the values of a fragment, in one walk: numbers keep theirs, elements are loaded where they
// are first read and let go of after their last use.
#include <algorithm>
#include <utility>

#include "emit/fragment.h"

namespace tl::compiler {

namespace {
constexpr int kNone = -1;
// Ordered comparisons that raise no flag, but for unequal, which is true of NaN.
constexpr int kPredicates[] = {0x00, 0x04, 0x11, 0x12, 0x1E, 0x1D, 0x03};
}  // namespace

class Generator {
 public:
  Generator(const Fragment& f, Level level) : f_(f), asm_(level, f.lane_) {
    register_of_.assign(static_cast<size_t>(f.n_values_), kNone);
    last_use_.assign(static_cast<size_t>(f.n_values_), kNone);
    pointer_of_.assign(static_cast<size_t>(f.n_values_), kNone);
    for (size_t i = 0; i < f.instructions_.size(); ++i)
      for (int v : {f.instructions_[i].a, f.instructions_[i].b, f.instructions_[i].mask})
        if (v >= 0) last_use_[v] = static_cast<int>(i);
    for (int r = asm_.vectors() - 1; r >= 0; --r) free_.push_back(r);
    if (asm_.has_mask_registers())
      for (int r = 7; r >= 1; --r) free_masks_.push_back(r);
  }

  bool run() {
    asm_.begin();
    if (!write_table()) return false;
    asm_.begin_loop();
    for (size_t i = 0; i < f_.instructions_.size(); ++i)
      if (!generate(static_cast<int>(i))) return false;
    asm_.end_loop();
    if (std::ranges::any_of(f_.stores_, [](const auto& s) { return s.streams; })) asm_.end_streams();
    asm_.end();
    return true;
  }
  const std::vector<uint8_t>& code() const { return asm_.code(); }

 private:
  // The table: elements of sources, of stores, then numbers.
  bool write_table() {
    int pointers = 0;
    for (const auto& s : f_.sources_)
      if (!s.is_number) pointer_of_[s.value] = pointers++;
    first_store_ = pointers;
    pointers += static_cast<int>(f_.stores_.size());
    if (pointers > Assembler::kPointers) return false;
    int slot = pointers;
    for (const auto& s : f_.sources_)
      if (s.is_number && !write_number(s.value, slot++)) return false;
    for (int v : f_.number_values_)
      if (!write_number(v, slot++)) return false;
    for (int p = 0; p < pointers; ++p) asm_.load_pointer(p, p);
    return true;
  }
  bool write_number(int value, int slot) {
    const int r = take(free_);
    if (r == kNone) return false;
    asm_.broadcast_from(slot, r);
    register_of_[value] = r;
    last_use_[value] = static_cast<int>(f_.instructions_.size());  // it stays for the next round
    return true;
  }

  int take(std::vector<int>& from) {
    if (from.empty()) return kNone;
    const int r = from.back();
    from.pop_back();
    return r;
  }

  bool bring(int value) {
    if (value < 0 || register_of_[value] != kNone) return true;
    const int r = take(free_);
    if (r == kNone || pointer_of_[value] == kNone) return false;
    asm_.load(r, pointer_of_[value]);
    register_of_[value] = r;
    return true;
  }

  void let_go(int value, int i) {
    if (value < 0 || last_use_[value] != i || register_of_[value] == kNone) return;
    const int r = std::exchange(register_of_[value], kNone);
    (is_mask(value) ? free_masks_ : free_).push_back(r);
  }
  bool is_mask(int value) const {
    if (!asm_.has_mask_registers()) return false;
    const auto at = std::find(f_.results_.begin(), f_.results_.end(), value);
    return at != f_.results_.end() && is_comparison(f_.instructions_[at - f_.results_.begin()].op);
  }

  bool generate(int i) {
    const Instruction& in = f_.instructions_[i];
    if (!bring(in.a) || !bring(in.b) || !bring(in.mask)) return false;
    const int a = at(in.a), b = at(in.b), mask = at(in.mask), to_value = f_.results_[i];
    for (int v : {in.a, in.b, in.mask}) let_go(v, i);
    const bool to_mask = asm_.has_mask_registers() && is_comparison(in.op);
    const int to = take(to_mask ? free_masks_ : free_);
    if (to == kNone) return false;
    write(in.op, to, a, b, mask);
    register_of_[to_value] = to;
    for (size_t s = 0; s < f_.stores_.size(); ++s)
      if (f_.stores_[s].value == to_value) store(static_cast<int>(s), to);
    if (last_use_[to_value] == kNone) {
      register_of_[to_value] = kNone;
      (to_mask ? free_masks_ : free_).push_back(to);
    }
    return true;
  }
  void store(int s, int vector) {
    const int pointer = first_store_ + s;
    f_.stores_[s].streams ? asm_.stream(pointer, vector) : asm_.store(pointer, vector);
  }
  int at(int value) const { return value < 0 ? 0 : register_of_[value]; }

  void write(Micro op, int to, int a, int b, int mask) {
    switch (op) {
      case Micro::Add:
        return asm_.add(to, a, b);
      case Micro::Sub:
        return asm_.sub(to, a, b);
      case Micro::Mul:
        return asm_.mul(to, a, b);
      case Micro::Div:
        return asm_.div(to, a, b);
      case Micro::Min:
        return asm_.min(to, a, b);
      case Micro::Max:
        return asm_.max(to, a, b);
      case Micro::Sqrt:
        return asm_.sqrt(to, a);
      case Micro::And:
        return asm_.bit_and(to, a, b);
      case Micro::Xor:
        return asm_.bit_xor(to, a, b);
      case Micro::Move:
        return asm_.move(to, a);
      case Micro::Select:
        return asm_.select(to, mask, a, b);
      default:
        asm_.compare(to, a, b, kPredicates[static_cast<int>(op) - static_cast<int>(Micro::Equal)]);
    }
  }

  const Fragment& f_;
  Assembler asm_;
  std::vector<int> register_of_, last_use_, pointer_of_, free_, free_masks_;
  int first_store_ = 0;
};

std::vector<uint8_t> Fragment::assemble(Level level) const {
  Generator generator(*this, level);
  return generator.run() ? generator.code() : std::vector<uint8_t>{};
}

}  // namespace tl::compiler
