// The bounds of the bags of an embedding.
#pragma once

#include "ops.h"
#include "ops/shared/copy.h"

namespace tl {

struct BagBounds {
  Tensor offsets;  // with the end
  int64_t count;

  // `first` begins each of the bags of `n` indices; its last number is the end if `with_last`.
  BagBounds(const Tensor& first, int64_t n, bool with_last) {
    count = first.numel() - (with_last ? 1 : 0);
    TL_CHECK(count >= 0, Runtime, "include_last_offset: number of offsets should be at least 1");
    offsets = empty(DimVector{count + 1}, {DType::Int64, {}});
    const Tensor own = to_contiguous(to_dtype(first, DType::Int64));
    int64_t* const to = offsets.ptr<int64_t>();
    for (int64_t i = 0; i < first.numel(); ++i) to[i] = own.ptr<int64_t>()[i];
    if (!with_last) to[count] = n;
    TL_CHECK(count == 0 || to[0] == 0, Runtime,
             "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has "
             "to start from position 0. However, got ",
             to[0]);
    for (int64_t i = 0; i < count; ++i)
      TL_CHECK(to[i] <= to[i + 1] && to[i + 1] <= n, Runtime,
               "offsets[-1] can not be greater than input's length(", n, "), and offsets must not fall, got ",
               to[i + 1], " after ", to[i]);
  }
};

}  // namespace tl
