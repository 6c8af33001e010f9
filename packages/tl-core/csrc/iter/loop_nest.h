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

// An element of a nest, where each operand has it. It goes on without a division: inner dimensions may be
// short.
class LoopPosition {
 public:
  LoopPosition(int64_t element, const DimVector& sizes, const DimVector* strides, char* const* data, int n)
      : sizes_(sizes), strides_(strides), n_(n), index_(sizes.size()) {
    for (int k = 0; k < n; ++k) data_[k] = data[k];
    for (size_t d = 0; d < sizes.size(); ++d, element /= sizes[d - 1]) {
      index_[d] = element % sizes[d];
      move(d, index_[d]);
    }
  }

  char* const* data() const { return data_; }
  int64_t index(size_t d) const { return d < index_.size() ? index_[d] : 0; }

  // By so many along a dimension, whose end they may reach.
  void advance(size_t d, int64_t count) {
    for (; d < index_.size(); ++d, count = 1) {
      index_[d] += count;
      if (index_[d] < sizes_[d]) return move(d, count);
      move(d, count - sizes_[d]);
      index_[d] = 0;
    }
  }

 private:
  void move(size_t d, int64_t count) {
    for (int k = 0; k < n_; ++k) data_[k] += count * strides_[k][d];
  }

  const DimVector& sizes_;
  const DimVector* strides_;
  int n_;
  DimVector index_;
  char* data_[kMaxOperands];
};

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
  LoopPosition position(begin, sizes_, strides_, data_, n_);
  for (int64_t at = begin; at < end;) {
    const int64_t index0 = position.index(0);
    const bool whole_rows = index0 == 0 && end - at >= n0;
    const int64_t rows = whole_rows ? std::min(n1 - position.index(1), (end - at) / n0) : 1;
    const int64_t columns = whole_rows ? n0 : std::min(n0 - index0, end - at);
    body(position.data(), static_cast<const int64_t*>(strides), columns, rows);
    whole_rows ? position.advance(1, rows) : position.advance(0, columns);
    at += columns * rows;
  }
}

}  // namespace tl
