// One call over many tensors.
#include "ops.h"

namespace tl {

namespace {
void check_lists(TensorList a, TensorList b) {
  TL_CHECK(!a.empty(), Runtime, "Tensor list must have at least one tensor.");
  TL_CHECK(a.size() == b.size(), Runtime, "Tensor lists must have the same number of tensors, got ", a.size(),
           " and ", b.size());
}

template <class F>
std::vector<Tensor> mapped(TensorList list, F f) {
  TL_CHECK(!list.empty(), Runtime, "Tensor list must have at least one tensor.");
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) out.push_back(f(i));
  return out;
}

std::vector<Tensor> add_list(TensorList self, TensorList other, const Scalar& alpha) {
  check_lists(self, other);
  return mapped(self, [&](size_t i) { return ops::add(self[i], other[i], alpha); });
}
std::vector<Tensor> add_scalar(TensorList self, const Scalar& scalar) {
  return mapped(self, [&](size_t i) { return ops::add(self[i], scalar); });
}
std::vector<Tensor> mul_list(TensorList self, TensorList other) {
  check_lists(self, other);
  return mapped(self, [&](size_t i) { return ops::mul(self[i], other[i]); });
}
std::vector<Tensor> mul_scalar(TensorList self, const Scalar& scalar) {
  return mapped(self, [&](size_t i) { return ops::mul(self[i], scalar); });
}

void add_list_(TensorList self, TensorList other, const Scalar& alpha) {
  check_lists(self, other);
  for (size_t i = 0; i < self.size(); ++i) ops::add_(self[i], other[i], alpha);
}
void add_scalar_(TensorList self, const Scalar& scalar) {
  for (const Tensor& t : self) ops::add_(t, scalar);
}
void mul_list_(TensorList self, TensorList other) {
  check_lists(self, other);
  for (size_t i = 0; i < self.size(); ++i) ops::mul_(self[i], other[i]);
}
void mul_scalar_(TensorList self, const Scalar& scalar) {
  for (const Tensor& t : self) ops::mul_(t, scalar);
}
void zero_(TensorList self) {
  for (const Tensor& t : self) ops::zero_(t);
}
}  // namespace

TL_KERNEL(_foreach_add_List, add_list)
TL_KERNEL(_foreach_add_Scalar, add_scalar)
TL_KERNEL(_foreach_mul_List, mul_list)
TL_KERNEL(_foreach_mul_Scalar, mul_scalar)
TL_KERNEL(_foreach_add__List, add_list_)
TL_KERNEL(_foreach_add__Scalar, add_scalar_)
TL_KERNEL(_foreach_mul__List, mul_list_)
TL_KERNEL(_foreach_mul__Scalar, mul_scalar_)
TL_KERNEL(_foreach_zero_, zero_)

}  // namespace tl
