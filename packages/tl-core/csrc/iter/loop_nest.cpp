// Loop nests: dimensions ordered by stride and merged where they lie in one piece.
#include "iter/loop_nest.h"

#include <numeric>

namespace tl {

void LoopNest::add(void* data, IntSpan strides, int64_t itemsize) {
  data_[n_] = static_cast<char*>(data);
  strides_[n_] = DimVector(strides);
  for (auto& s : strides_[n_]) s = wrapped_mul(s, itemsize);
  ++n_;
}

void LoopNest::add_broadcast(const Tensor& t) {
  const size_t missing = sizes_.size() - static_cast<size_t>(t.dim());
  DimVector strides(sizes_.size());
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) != 1) strides[missing + d] = t.stride(d);
  add(t.data(), strides, t.itemsize());
}

// Insertion sort in which a zero stride says nothing, so that broadcast dimensions keep their order.
DimVector iteration_order(IntSpan sizes, const DimVector* strides, int n) {
  const int ndim = static_cast<int>(sizes.size());
  DimVector order(ndim);
  std::iota(order.begin(), order.end(), 0);
  std::reverse(order.begin(), order.end());
  auto compare = [&](int64_t a, int64_t b) {  // > 0: a is slower than b
    for (int k = 0; k < n; ++k) {
      const int64_t sa = strides[k][a], sb = strides[k][b];
      if (sa == 0 || sb == 0) continue;
      if (sa != sb) return sa < sb ? -1 : 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < ndim; ++i) {
    int j = i;
    for (int k = i - 1; k >= 0; --k) {
      const int c = compare(order[k], order[j]);
      if (c > 0) {
        std::swap(order[k], order[j]);
        j = k;
      } else if (c < 0) {
        break;
      }
    }
  }
  return order;
}

void LoopNest::order() {
  const DimVector order = iteration_order(sizes_, strides_, n_);
  DimVector sizes(sizes_.size());
  for (size_t i = 0; i < order.size(); ++i) sizes[i] = sizes_[order[i]];
  sizes_ = sizes;
  for (int k = 0; k < n_; ++k) {
    DimVector strides(order.size());
    for (size_t i = 0; i < order.size(); ++i) strides[i] = strides_[k][order[i]];
    strides_[k] = strides;
  }
}

void LoopNest::merge() {
  size_t last = 0;
  for (size_t d = 1; d < sizes_.size(); ++d) {
    bool one_piece = sizes_[last] == 1 || sizes_[d] == 1;
    if (!one_piece) {
      one_piece = true;
      for (int k = 0; k < n_; ++k) one_piece &= strides_[k][last] * sizes_[last] == strides_[k][d];
    }
    if (one_piece) {
      if (sizes_[last] == 1)
        for (int k = 0; k < n_; ++k) strides_[k][last] = strides_[k][d];
      sizes_[last] *= sizes_[d];
    } else {
      ++last;
      sizes_[last] = sizes_[d];
      for (int k = 0; k < n_; ++k) strides_[k][last] = strides_[k][d];
    }
  }
  if (!sizes_.empty()) sizes_.resize(last + 1);
}

void LoopNest::plan() {
  numel_ = 1;
  for (int64_t s : sizes_) numel_ *= s;
  if (numel_ == 0) return;
  if (sizes_.size() > 1) {
    order();
    merge();
  }
}

}  // namespace tl
