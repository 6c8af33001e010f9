// Segments: runs of rows that stand one after the other along the first dimension of a tensor.
#pragma once

#include <vector>

#include "dispatch/operator.h"
#include "tensor/tensor.h"

namespace tl {

// Where each segment begins, and how many rows it has; checked against the number of rows.
class Segments {
 public:
  // `offsets`: one more than there are segments, ascending. `lengths`: for segments with gaps between them.
  // Without elements to read (device meta) every segment is empty.
  Segments(const char* op, const Tensor& offsets, OptTensor lengths, int64_t rows);

  int64_t count() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t begin(int64_t i) const { return begins_[static_cast<size_t>(i)]; }
  int64_t length(int64_t i) const { return lengths_[static_cast<size_t>(i)]; }
  int64_t longest() const;
  int64_t total() const;  // of all lengths
  bool has_gaps(int64_t rows) const { return total() != rows; }

 private:
  std::vector<int64_t> begins_, lengths_;
};

// The rows of segment i, a view without autograd.
Tensor segment_of(const Tensor& t, const Segments& segments, int64_t i);

}  // namespace tl
