// A pass over rows at work: each thread takes a range of rows, and has buffers of its own.
#include "row_pass.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tl::compiler {

namespace {
constexpr int64_t kGrain = 32768;  // elements a thread takes at a time
}  // namespace

void RowPass::run() const {
  int64_t columns = 1;
  for (const RowAction& a : row_actions_) columns = std::max(columns, a.columns);
  const int64_t grain = std::max<int64_t>(kGrain / (columns * tile_), 1) * tile_;
  check(api->parallel_for(
      0, rows_, grain,
      [](void* ctx, int64_t begin, int64_t end) { static_cast<const RowPass*>(ctx)->run(begin, end); },
      const_cast<RowPass*>(this)));
}

RowPass::Work RowPass::prepare() const {
  Work w{std::vector<const char*>(streams_.size()), {}, {}, nullptr, nullptr};
  const int64_t bytes = slot_bytes_ + (TL_LOOP_OPERANDS)*scratch_;
  w.memory.reset(static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(bytes + 64))));
  if (!w.memory) throw std::bad_alloc();
  w.slots = w.memory.get();
  w.scratch = w.slots + slot_bytes_;
  return w;
}

void RowPass::run(int64_t begin, int64_t end) const {
  try {
    Work work = prepare();
    for (int64_t at = begin; at < end;) {
      const int64_t n = rows_at(at, end);
      run_tile(work, at, n);
      at += n;
    }
  } catch (...) {
    pending_from_exception();
  }
}

// As many rows as have one stride in each stream.
int64_t RowPass::rows_at(int64_t begin, int64_t end) const {
  int64_t n = std::min(tile_, end - begin);
  for (const Stream& s : streams_)
    if (s.ndim > 1) n = std::min(n, s.sizes[0] - begin % s.sizes[0]);
  return n;
}

void RowPass::find(Work& w, int64_t begin) const {
  for (size_t i = 0; i < streams_.size(); ++i) {
    const Stream& s = streams_[i];
    if (s.kind == Stream::Slot) {
      w.data[i] = w.slots + slots_[s.index].at + s.offset;
      continue;
    }
    w.data[i] = s.base;
    int64_t position = begin;
    for (int d = 0; d < s.ndim && position; ++d) {
      w.data[i] += position % s.sizes[d] * s.strides[d];
      position /= s.sizes[d];
    }
  }
}

void RowPass::run_tile(Work& w, int64_t begin, int64_t n) const {
  find(w, begin);
  auto emitted = emitted_.begin();
  for (int i = 0; i < static_cast<int>(actions_.size());) {
    if (emitted != emitted_.end() && emitted->first == i) {
      run(w, *emitted, begin, n);
      i = emitted++->last;
      continue;
    }
    if (actions_[i].step->call || actions_[i].step->result_of >= 0)
      call(w, i, begin, n);
    else
      run_loop(w, i, begin, n, 0, row_actions_[i].columns);
    ++i;
  }
}

// Row by row whole vectors by the code, the last few columns by eager's loops.
void RowPass::run(Work& w, const EmittedRun& e, int64_t begin, int64_t n) const {
  const int64_t columns = row_actions_[e.first].columns, whole = columns / e.lanes * e.lanes;
  const auto& table = e.in_row.table;
  w.table.resize(table.size());
  for (int64_t r = 0; whole && r < n; ++r) {
    for (size_t i = 0; i < table.size(); ++i) {
      const Location at = table[i].location;
      if (table[i].number) {
        w.table[i] = table[i].number;
      } else if (at.kind == Location::Stream) {
        const Stream& s = streams_[at.index];
        w.table[i] = w.data[at.index] + (s.ndim ? r * s.strides[0] : 0);
      } else {
        const Buffer& b = at.kind == Location::Slot ? slots_[at.index] : targets_[at.index];
        w.table[i] = result(w, at, begin) + r * b.row;
      }
    }
    e.in_row.code(w.table.data(), whole * e.lane_bytes);
  }
  if (whole == columns) return;
  for (int i = e.first; i < e.last; ++i) run_loop(w, i, begin, n, whole, columns - whole);
}

char* RowPass::result(const Work& w, Location p, int64_t begin) const {
  if (p.kind == Location::Slot) return w.slots + slots_[p.index].at;
  return targets_[p.index].base + begin * targets_[p.index].row;
}

namespace {
// Where an operand of a loop lies, with its two strides.
struct Pointer {
  char* data;
  int64_t inner, outer;
};

struct Extent {
  int64_t n0, n1;

  // Converts, both ways dense or not.
  void convert(TlElementLoop loop, Pointer to, Pointer from) const {
    char* const both[] = {to.data, from.data};
    const int64_t strides[] = {to.inner, from.inner, to.outer, from.outer};
    loop(both, strides, n0, n1, nullptr);
  }
  Pointer scratch(char* memory, int64_t item) const { return {memory, item, n0 * item}; }
};
}  // namespace

void RowPass::run_loop(Work& w, int i, int64_t begin, int64_t n, int64_t first, int64_t columns) const {
  const Action& a = actions_[i];
  const Step& step = *a.step;
  const bool is_column = row_actions_[i].columns == 1;  // one element a row: the rows are the inner loop
  const Extent extent{is_column ? n : columns, is_column ? 1 : n};
  const auto pointer = [&](char* data, int64_t inner, int64_t outer) {
    return is_column ? Pointer{data, outer, 0} : Pointer{data + first * inner, inner, outer};
  };
  const int64_t item = step.out.bytes();
  const Pointer out = pointer(result(w, a.out, begin), item, row_actions_[i].columns * item);
  char* scratch = w.scratch;
  const auto take = [&](int64_t bytes) {
    return extent.scratch(std::exchange(scratch, scratch + scratch_), bytes);
  };
  Pointer pointers[TL_LOOP_OPERANDS] = {step.out.convert ? take(step.out.loop_bytes()) : out};
  for (int k = 0; k < step.n_inputs; ++k) {
    const Operand& o = step.inputs[k];
    const Stream& s = streams_[a.inputs[k].index];
    pointers[k + 1] =
        pointer(const_cast<char*>(w.data[a.inputs[k].index]), s.inner, s.ndim ? s.strides[0] : 0);
    if (!o.convert || o.kind == Operand::Number) continue;
    const Pointer converted = take(o.loop_bytes());
    extent.convert(o.convert, converted, pointers[k + 1]);
    pointers[k + 1] = converted;
  }
  char* data[TL_LOOP_OPERANDS];
  int64_t strides[2 * (TL_LOOP_OPERANDS)];
  for (int k = 0; k <= step.n_inputs; ++k) {
    data[k] = pointers[k].data;
    strides[k] = pointers[k].inner;
    strides[step.n_inputs + 1 + k] = pointers[k].outer;
  }
  step.run(data, strides, extent.n0, extent.n1, step.params);
  if (step.out.convert) extent.convert(step.out.convert, out, pointers[0]);
}

// ---- calls ------------------------------------------------------------------------------------------------

Tensor RowPass::tensor_of(const Work& w, int i, int k, int64_t n) const {
  const int64_t sizes[] = {n, row_actions_[i].columns}, strides[] = {row_actions_[i].columns, 1};
  char* const data = const_cast<char*>(w.data[actions_[i].inputs[k].index]);
  return owned(api->tensor_from_memory(
      data, 2, sizes, strides, actions_[i].step->inputs[k].dtype, TL_DEVICE_OF(TL_DEVICE_CPU, -1),
      [](void*) {}, nullptr));
}

void RowPass::call(Work& w, int i, int64_t begin, int64_t n) const {
  const Action& a = actions_[i];
  if (a.step->call) {
    Tensor inputs[TL_LOOP_INPUTS];
    for (int k = 0; k < a.step->n_inputs; ++k) inputs[k] = tensor_of(w, i, k, n);
    w.results = row_actions_[i].call->run(inputs);
  }
  const Buffer& to = a.out.kind == Location::Slot ? slots_[a.out.index] : targets_[a.out.index];
  const void* const from = api->tensor_data(w.results[a.step->result].get());
  if (!from) throw Pending();
  std::memcpy(result(w, a.out, begin), from, static_cast<size_t>(n * to.row));
}

}  // namespace tl::compiler
