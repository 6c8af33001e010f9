// isa: all
#include "kernels/cpu/sort/topk.h"

#include "kernels/cpu/loops/along_dim_driver.h"
#include "kernels/cpu/simd/complex.h"
#include "kernels/cpu/simd/isa_dispatch.h"
#include "kernels/cpu/sort/load_keys.h"
#include "kernels/cpu/sort/quickselect.h"

namespace tl::cpu::TL_ISA_NAMESPACE {

namespace {

template <class T>
void top_lines(const AlongShape& s, char* const* data, int64_t count, bool descending) {
  const Key<T> flip = descending ? ~Key<T>{} : Key<T>{};
  const KeyReader read = key_reader(dtype_of<T>);
  for_each_lines<3>(s, data, 1, [&](char* const* at, int64_t) {
    Lowest<Key<T>> lowest(count);
    const auto* items = lowest.find(s.n, [&](int64_t first, int64_t n, Key<T>* keys) {
      read(at[2] + first * s.along[2], s.along[2], n, descending, keys);
    });
    const LineOutput<T> out(at, s);
    for (int64_t i = 0; i < count; ++i) out.put(i, items[i].key ^ flip, items[i].number);
  });
}

template <class T>
constexpr TopKernel entry() {
  constexpr bool common = has_float_lanes<OpMath<T>> || std::is_same_v<T, int64_t>;
  if constexpr (is_complex_type<T> || (kIsaLevel > 1 && !common))
    return nullptr;
  else
    return &top_lines<T>;
}

}  // namespace

extern const TopKernel tops[kNumDTypes] = {
#define TL_TOP(E, T, name) entry<T>(),
    TL_ALL_DTYPES(TL_TOP)
#undef TL_TOP
};

}  // namespace tl::cpu::TL_ISA_NAMESPACE

#if TL_ISA_LEVEL == 1
TL_LEVELS(extern const TopKernel tops[kNumDTypes])

namespace tl::cpu {

void top(DType dtype, const AlongShape& shape, int64_t count, bool descending, char* const* data) {
  const TopKernel kernel = TL_SELECT(tops)[static_cast<int>(dtype)];
  (kernel ? kernel : base::tops[static_cast<int>(dtype)])(shape, data, count, descending);
}

}  // namespace tl::cpu
#endif
