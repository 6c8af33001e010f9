// A loop over the elements of several strided operands: dimensions ordered by memory, merged where they lie
// in one piece.
#pragma once

#include "base/parallel.h"
#include "tensor/tensor.h"

namespace tl {

inline constexpr int kMaxOperands = 6;
inline constexpr int64_t kGrain = 32768;  // elements a thread takes at a time

class LoopNest {
 public:
  explicit LoopNest(IntSpan sizes) : sizes_(sizes) {}

  // Operands in the order in which the loop sees them; strides in elements, broadcast to the sizes.
  void add(void* data, IntSpan strides, int64_t itemsize);
  void add(const Tensor& t) { add(t.data(), t.strides(), t.itemsize()); }
  void add_broadcast(const Tensor& t);
  void add_number(void* data) { add(data, DimVector(sizes_.size()), 0); }

  // Orders and merges the dimensions; call once, before running.
  void plan();

  int64_t numel() const { return numel_; }
  int ndim() const { return static_cast<int>(sizes_.size()); }
  int64_t size(int d) const { return sizes_[d]; }
  int64_t stride(int d, int operand) const { return strides_[operand][d]; }
  char* data(int operand) const { return data_[operand]; }
  int n_operands() const { return n_; }

  // body(data, strides, n0, n1) as a two-dimensional elementwise loop; in parallel above the grain.
  template <class F>
  void run(F&& body) const {
    parallel_for(0, numel_, kGrain, [&](int64_t begin, int64_t end) { run_range(begin, end, body); });
  }
  template <class F>
  void run_serial(F&& body) const {
    run_range(0, numel_, body);
  }

 private:
  template <class F>
  void run_range(int64_t begin, int64_t end, F&& body) const;
  void order();
  void merge();

  DimVector sizes_;                  // after plan(): fastest first
  DimVector strides_[kMaxOperands];  // bytes
  char* data_[kMaxOperands] = {};
  int n_ = 0;
  int64_t numel_ = 0;
};

// The order of dimensions, fastest first, that fits the strides best; the first operands count most.
DimVector iteration_order(IntSpan sizes, const DimVector* strides, int n_operands);

// Elements [begin, end) of the nest in its order: a partial row to the next row's begin, then as many whole
// rows of the inner two dimensions as fit, then the rest.
template <class F>
void LoopNest::run_range(int64_t begin, int64_t end, F&& body) const {
  if (begin >= end) return;
  const int ndim = this->ndim();
  const int64_t n0 = ndim > 0 ? sizes_[0] : 1, n1 = ndim > 1 ? sizes_[1] : 1;
  int64_t strides[2 * kMaxOperands];
  for (int k = 0; k < n_; ++k) {
    strides[k] = ndim > 0 ? strides_[k][0] : 0;
    strides[n_ + k] = ndim > 1 ? strides_[k][1] : 0;
  }
  for (int64_t at = begin; at < end;) {
    int64_t rest = at;
    char* data[kMaxOperands];
    for (int k = 0; k < n_; ++k) data[k] = data_[k];
    int64_t index0 = 0, index1 = 0;
    for (int d = 0; d < ndim; ++d) {
      const int64_t i = rest % sizes_[d];
      rest /= sizes_[d];
      if (d == 0) index0 = i;
      if (d == 1) index1 = i;
      for (int k = 0; k < n_; ++k) data[k] += i * strides_[k][d];
    }
    const bool whole_rows = index0 == 0 && end - at >= n0;
    const int64_t rows = whole_rows ? std::min(n1 - index1, (end - at) / n0) : 1;
    const int64_t columns = whole_rows ? n0 : std::min(n0 - index0, end - at);
    body(static_cast<char* const*>(data), static_cast<const int64_t*>(strides), columns, rows);
    at += columns * rows;
  }
}

}  // namespace tl
