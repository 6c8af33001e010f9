// A pass at work: each thread takes a range of elements, and has buffers of its own.
#include "pass.h"

#include <algorithm>
#include <new>

namespace tl::compiler {

namespace {
constexpr int64_t kGrain = 32768;  // elements a thread takes at a time
}  // namespace

int64_t Pass::grain() const { return std::max<int64_t>(kGrain / tile_, 1) * tile_; }

void Pass::run() const {
  check(api->parallel_for(
      0, nest_.numel(), grain(),
      [](void* ctx, int64_t begin, int64_t end) { static_cast<const Pass*>(ctx)->run(begin, end); },
      const_cast<Pass*>(this)));
}

namespace {
// The chunks that are computed.
struct Progress {
  const Pass& pass;
  int64_t grain;
  std::vector<char> done;
};
}  // namespace

// Where Ctrl-C or missing memory ends the others, this thread computes what is left, with memory that it has.
bool Pass::run_to_end() const {
  Work reserve = prepare();
  const int64_t n = nest_.numel();
  Progress progress{*this, grain(), std::vector<char>(static_cast<size_t>((n + grain() - 1) / grain()))};
  const auto chunk = [](void* ctx, int64_t begin, int64_t end) {
    auto& p = *static_cast<Progress*>(ctx);
    try {
      Work work = p.pass.prepare();
      p.pass.run_tiles(work, begin, end);
    } catch (...) {
      pending_from_exception();
      return;
    }
    for (int64_t at = begin; at < end; at += p.grain) p.done[at / p.grain] = 1;
  };
  if (api->parallel_for(0, n, progress.grain, chunk, &progress) == 0) return true;
  for (size_t i = 0; i < progress.done.size(); ++i) {
    const int64_t begin = static_cast<int64_t>(i) * progress.grain;
    std::ranges::fill(reserve.phase, -1);
    if (!progress.done[i]) run_tiles(reserve, begin, std::min(begin + progress.grain, n));
  }
  return false;
}

void Pass::run_here() {
  if (!retained_) retained_ = std::make_unique<Work>(prepare());
  std::ranges::fill(retained_->phase, -1);
  run_tiles(*retained_, 0, nest_.numel());
}

Pass::Work Pass::prepare() const {
  const auto n = nest_.streams().size();
  Work w{std::vector<const char*>(n),
         std::vector<int64_t>(n),
         std::vector<int64_t>(n, -1),
         std::vector<char*>(n),
         true,
         nullptr,
         nullptr,
         {}};
  const int64_t buffer = buffer_bytes();
  int64_t bytes = 64 + n_slots_ * slot_bytes() + n_scratch_ * buffer;
  for (size_t i = 0; i < n; ++i) bytes += may_gather(i) ? buffer : 0;
  // One allocation: buffers of results, of conversions, of gathered operands.
  w.memory.reset(static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(bytes))));
  if (!w.memory) throw std::bad_alloc();
  w.slots = w.memory.get();
  w.scratch = w.slots + n_slots_ * slot_bytes();
  char* at = w.scratch + n_scratch_ * buffer;
  for (size_t i = 0; i < n; ++i) {
    if (!may_gather(i)) continue;
    w.gathered[i] = at;
    at += buffer;
  }
  return w;
}
bool Pass::may_gather(size_t i) const {
  const Stream& s = nest_.streams()[i];
  return !s.is_flat && (nest_.ndim() > 1 || s.strides[0] != 0);
}

void Pass::run(int64_t begin, int64_t end) const {
  try {
    Work work = prepare();
    run_tiles(work, begin, end);
  } catch (...) {
    pending_from_exception();
  }
}

void Pass::run_tiles(Work& w, int64_t begin, int64_t end) const {
  for (int64_t at = begin; at < end; at += tile_) run_tile(w, at, std::min(tile_, end - at));
}

void Pass::run_tile(Work& w, int64_t begin, int64_t n) const {
  for (size_t i = 0; i < nest_.streams().size(); ++i) find(w, i, begin, n);
  const int64_t row = nest_.ndim() ? nest_.size(0) : 1;
  w.in_row = begin % row + n <= row;
  auto emitted = emitted_.begin();
  for (int i = 0; i < static_cast<int>(actions_.size());) {
    if (emitted != emitted_.end() && emitted->first == i) {
      run(w, *emitted, begin, n);
      i = emitted++->last;
    } else {
      run(w, actions_[i++], begin, 0, n);
    }
  }
}

// Whole vectors by the code, the last few elements by eager's loops.
void Pass::run(Work& w, const EmittedRun& e, int64_t begin, int64_t n) const {
  const EmittedRun::Variant& variant = w.in_row ? e.in_row : e.across_rows;
  const int64_t whole = n / e.lanes * e.lanes;
  w.table.clear();
  for (const TableEntry& entry : variant.table) w.table.push_back(pointer(w, entry, begin));
  if (whole) variant.code(w.table.data(), whole * e.lane_bytes);
  if (whole == n) return;
  for (int i = e.first; i < e.last; ++i) run(w, actions_[i], begin, whole, n - whole);
}
const void* Pass::pointer(const Work& w, const TableEntry& entry, int64_t begin) const {
  if (entry.number) return entry.number;
  if (entry.location.kind == Location::Stream) return w.data[entry.location.index];
  if (entry.location.kind == Location::Slot) return slot(w, entry.location.index);
  return targets_[entry.location.index].base + begin * targets_[entry.location.index].item;
}

void Pass::find(Work& w, size_t i, int64_t begin, int64_t n) const {
  const Stream& s = nest_.streams()[i];
  if (s.is_flat) {
    w.data[i] = s.base + begin * s.item;
    w.strides[i] = s.item;
    return;
  }
  const int64_t row = nest_.ndim() ? nest_.size(0) : 1, column = begin % row;
  const bool repeats = std::all_of(s.strides + 1, s.strides + kMaxDims, [](int64_t b) { return b == 0; });
  const bool in_row = column + n <= row || (repeats && s.strides[0] == 0);
  if (in_row && (s.strides[0] == s.item || s.strides[0] == 0)) {
    w.data[i] = nest_.at(s, begin);
    w.strides[i] = s.strides[0];
    return;
  }
  w.data[i] = w.gathered[i];
  w.strides[i] = s.item;
  if (repeats && w.phase[i] == column) return;  // the last tile's elements, of which this one has no more
  gather(nest_, s, begin, n, w.gathered[i]);
  w.phase[i] = n == tile_ ? column : -1;
}

char* Pass::result(const Work& w, Location p, int64_t begin, int64_t skip, int64_t item) const {
  if (p.kind == Location::Memory) return targets_[p.index].base + (begin + skip) * item;
  return slot(w, p.index) + (is_one_run_ ? 0 : skip * item);
}
const char* Pass::input(const Work& w, Location p, int64_t begin, int64_t skip, int64_t item,
                        int64_t& stride) const {
  stride = p.kind == Location::Stream ? w.strides[p.index] : item;
  return p.kind == Location::Stream ? w.data[p.index] + skip * stride : result(w, p, begin, skip, item);
}

// n elements of a tile, after the first `skip`.
void Pass::run(Work& w, const Action& a, int64_t begin, int64_t skip, int64_t n) const {
  const Step& step = *a.step;
  char* data[TL_LOOP_OPERANDS];
  int64_t strides[2 * (TL_LOOP_OPERANDS)] = {};
  char* scratch = w.scratch;
  char* const out = result(w, a.out, begin, skip, step.out.bytes());
  data[0] = out;
  strides[0] = step.out.loop_bytes();
  if (step.out.convert) {
    data[0] = scratch;
    scratch += buffer_bytes();
  }
  for (int i = 0; i < step.n_inputs; ++i) {
    const Operand& o = step.inputs[i];
    data[i + 1] = const_cast<char*>(input(w, a.inputs[i], begin, skip, o.bytes(), strides[i + 1]));
    if (!o.convert || o.kind == Operand::Number) continue;
    char* const both[] = {scratch, data[i + 1]};
    const int64_t steps[] = {o.loop_bytes(), strides[i + 1], 0, 0};
    o.convert(both, steps, n, 1, nullptr);
    data[i + 1] = scratch;
    strides[i + 1] = o.loop_bytes();
    scratch += buffer_bytes();
  }
  step.run(data, strides, n, 1, step.params);
  if (!step.out.convert) return;
  char* const both[] = {out, data[0]};
  const int64_t steps[] = {step.out.bytes(), step.out.loop_bytes(), 0, 0};
  step.out.convert(both, steps, n, 1, nullptr);
}

}  // namespace tl::compiler
