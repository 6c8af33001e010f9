// The elements of a group in the order in which its results lie in memory, and how an operand lies beside
// them.
#pragma once

#include <vector>

#include "program.h"

namespace tl::compiler {

// An operand that comes from memory, or a number.
struct Stream {
  Operand::Kind kind = Operand::Number;
  int index = 0;               // of the input or the step
  int64_t offset = 0;          // in bytes
  const char* base = nullptr;  // once it is known
  int64_t item = 0;
  int64_t strides[kMaxDims] = {};  // in bytes, one a dimension of the nest
  bool is_flat = false;            // lies as the results do
};

class Nest {
 public:
  explicit Nest(const Geometry& results);

  // Operands with the geometry that they are read with, before `merge`.
  int add(const Operand& operand);
  int add_number(const char* number, int64_t item);
  void merge();  // joins dimensions that all operands cross in one stride

  int64_t numel() const { return numel_; }
  int ndim() const { return ndim_; }
  int64_t size(int d) const { return sizes_[d]; }  // the fastest first
  const std::vector<Stream>& streams() const { return streams_; }
  std::vector<Stream>& streams() { return streams_; }
  // Elements that a pass takes at a time: a part of a row, or several whole rows.
  int64_t tile(int64_t most) const;
  // Where the element of that position in the order lies.
  const char* at(const Stream& stream, int64_t position) const;

 private:
  Geometry results_;
  int ndim_ = 0;
  int dims_[kMaxDims];
  int64_t sizes_[kMaxDims];
  int64_t numel_ = 1;
  std::vector<Stream> streams_;
};

// Brings the elements [begin, begin + n) side by side.
void gather(const Nest& nest, const Stream& stream, int64_t begin, int64_t n, char* to);

}  // namespace tl::compiler
