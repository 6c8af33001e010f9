// Fills of expanded tensors: repeated dimensions are narrowed to one element, then filled by a mask.
#include "ops/shared/expanded.h"

#include "ops.h"
#include "ops/shared/warn.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
bool repeats(const Tensor& t, int64_t d) { return t.stride(d) == 0 && t.size(d) > 1; }
}  // namespace

bool is_expanded(const Tensor& t) {
  for (int64_t d = 0; d < t.dim(); ++d)
    if (repeats(t, d)) return t.numel() > 0;
  return false;
}

void warn_expanded(const char* op, const char* assignment) {
  warn(cat("Use of ", op,
           " on expanded tensors is deprecated. Please clone() the tensor before performing this "
           "operation. This also applies to advanced indexing e.g. ",
           assignment));
}

Tensor fill_expanded(const Tensor& self, const Tensor& mask, const Tensor& number) {
  Tensor base = self, any = ops::expand(mask, self.sizes());
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!repeats(self, d)) continue;
    base = ops::narrow(base, d, 0, 1);
    any = ops::any_dim(any, d, true);
  }
  ops::masked_fill_(base, any, number);
  return self;
}

}  // namespace tl
