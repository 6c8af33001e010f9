#include "kernels/cpu/loop.h"

#include "base/error.h"

namespace tl::cpu {

static const LoopEntry* find_entry(const LoopTable& table, DType out, const DType* inputs, int n_inputs) {
  for (int i = 0; i < table.count; ++i) {
    const LoopEntry& entry = table.entries[i];
    bool same = entry.out == out && entry.n_inputs == n_inputs;
    for (int k = 0; k < n_inputs && same; ++k) same = entry.inputs[k] == inputs[k];
    if (same) return &entry;
  }
  return nullptr;
}

ElementwiseLoop find_loop(const LoopTable& chosen, const LoopTable& portable, DType out, const DType* inputs, int n_inputs) {
  const LoopEntry* entry = find_entry(chosen, out, inputs, n_inputs);
  if (entry && entry->loop) return entry->loop;
  entry = find_entry(portable, out, inputs, n_inputs);
  return entry ? entry->loop : nullptr;
}

void raise_zero_division() { fail(ErrorKind::Runtime, "ZeroDivisionError"); }

void raise_index(int64_t index, int64_t size) {
  fail(ErrorKind::Index, "index ", index, " is out of bounds for dimension with size ", size);
}

}  // namespace tl::cpu
