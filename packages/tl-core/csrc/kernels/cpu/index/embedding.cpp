// isa: all
// Embedding: row gather by memcpy, row scatter_add by strips of columns.
#include "kernels/cpu/index/embedding.h"

#include <cstring>

#include "base/parallel.h"
#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/isa_dispatch.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

constexpr int64_t kColumns = 64;  // of a row that one task adds up

int64_t grain_for(int64_t cost) { return (1 << 15) / (cost + 1) + 1; }

template <class A>
void add_columns(const RowTable& t, const IndexedRows& from, A* out, int64_t first, int64_t last) {
  const A* const rows = reinterpret_cast<const A*>(from.rows);
  const auto [unused, indices, n, skipped, counts] = from;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = indices[i];
    if (index == skipped) continue;
    const A* const row = rows + i * t.width;
    A* __restrict const to = out + index * t.width;
    if (counts) {
      const A count = static_cast<A>(counts[index]);
      for (int64_t j = first; j < last; ++j) to[j] += row[j] / count;
    } else {
      for (int64_t j = first; j < last; ++j) to[j] += row[j];
    }
  }
}

template <class A>
void add(const RowTable& t, const IndexedRows& from, char* out) {
  const int64_t strips = (t.width + kColumns - 1) / kColumns;
  parallel_for(0, strips, grain_for(from.n * kColumns), [&](int64_t begin, int64_t end) {
    const int64_t last = end * kColumns < t.width ? end * kColumns : t.width;
    add_columns(t, from, reinterpret_cast<A*>(out), begin * kColumns, last);
  });
}

}  // namespace

using AddRows = void (*)(const RowTable&, const IndexedRows&, char*);

// float and double.
extern const AddRows row_adders[2] = {&add<float>, &add<double>};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(using AddRows = void (*)(const RowTable&, const IndexedRows&, char*);
          extern const AddRows row_adders[2])

namespace tl::cpu {

void gather_rows(const RowTable& table, int64_t itemsize, const char* data, const int64_t* indices, int64_t n,
                 char* out) {
  const auto bytes = static_cast<size_t>(table.width * itemsize);
  if (bytes == 0) return;
  parallel_for(0, n, (1 << 15) / (table.width + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(out + static_cast<size_t>(i) * bytes, data + static_cast<size_t>(indices[i]) * bytes,
                  bytes);
  });
}

void add_rows(DType dtype, const RowTable& table, const IndexedRows& from, char* out) {
  TL_SELECT(row_adders)[dtype == DType::Float64](table, from, out);
}

}  // namespace tl::cpu
#endif
