// How the numbers of several ranks become one: by tl-core's operators, in the order of the ranks.
#pragma once

#include "ranks/call.h"
#include "tl/tl.hpp"

namespace tl::distributed {

class Combiner {
 public:
  Combiner(Reduction reduction, int64_t dtype);

  // out = a with b; out may be a or b. Averages are of `ranks` numbers.
  void pair(void* out, const void* a, const void* b, int64_t count) const;
  // out = the reduction of n runs of numbers, `pitch` bytes from each other; out is apart from them.
  void runs(void* out, const char* first, int64_t pitch, int n, int64_t count) const;
  void divide(void* data, int64_t count, int n) const;  // makes an average of a sum of n numbers

 private:
  Tensor view(const void* data, int64_t count) const;
  Tensor table(const char* first, int64_t pitch, int n, int64_t count) const;
  void binary(const Tensor& out, const Tensor& a, const Tensor& b) const;

  Reduction reduction_;
  int64_t dtype_;
  bool is_bool_;
  bool whole_;  // a sum or an average, by one operator over all runs
};

}  // namespace tl::distributed
