// Zero search by a comparison of each element, without branches, so that the compiler vectorizes it.
#include "kernels/cpu/loops/find_zero.h"

#include "kernels/cpu/loops/item_sizes.h"
#include "kernels/cpu/simd/load_store.h"

namespace tl::cpu {

bool has_zero(const char* data, int64_t stride, int64_t n, int64_t item_size) {
  return base::by_size(item_size, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_integral_v<T>) {
      bool found = false;
      if (stride == static_cast<int64_t>(sizeof(T)))
        for (int64_t i = 0; i < n; ++i) found |= base::read<T>(data + i * sizeof(T)) == 0;
      else
        for (int64_t i = 0; i < n; ++i) found |= base::read<T>(data + i * stride) == 0;
      return found;
    } else {
      return false;
    }
  });
}

}  // namespace tl::cpu
