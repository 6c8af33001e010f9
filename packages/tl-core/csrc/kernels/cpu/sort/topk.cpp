// isa: all
// Topk: a running set of the k smallest radix keys of each row, pruned by nth_element.
#include "kernels/cpu/sort/topk.h"

#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/simd/complex.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/sort/load_keys.h"
#include "kernels/cpu/sort/quickselect.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class T>
void topk_rows(const AlongShape& s, char* const* data, int64_t count, bool descending) {
  const Key<T> flip = descending ? ~Key<T>{} : Key<T>{};
  const KeyReader read = key_reader(dtype_of<T>);
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) {
    SmallestK<Key<T>> lowest(count);
    const auto* items = lowest.find(s.n, [&](int64_t first, int64_t n, Key<T>* keys) {
      read(at[2] + first * s.along[2], s.along[2], n, descending, keys);
    });
    const RowOutput<T> out(at, s);
    for (int64_t i = 0; i < count; ++i) out.put(i, items[i].key ^ flip, items[i].index);
  });
}

template <class T>
constexpr TopkKernel entry() {
  constexpr bool common = has_float_lanes<OpMath<T>> || std::is_same_v<T, int64_t>;
  if constexpr (is_complex_type<T> || (kIsaLevel > 1 && !common))
    return nullptr;
  else
    return &topk_rows<T>;
}

}  // namespace

extern const TopkKernel topk_kernels[kNumDTypes] = {
#define TL_TOPK(E, T, name) entry<T>(),
    TL_ALL_DTYPES(TL_TOPK)
#undef TL_TOPK
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const TopkKernel topk_kernels[kNumDTypes])

namespace tl::cpu {

void topk(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* const* data) {
  const TopkKernel kernel = TL_SELECT(topk_kernels)[static_cast<int>(dtype)];
  (kernel ? kernel : base::topk_kernels[static_cast<int>(dtype)])(shape, data, count, descending);
}

}  // namespace tl::cpu
#endif
