// Vectors with a one at the place of a class; made of other operators.
#include "ops.h"
#include "ops/shared/elements.h"
#include "ops/shared/known_values.h"

namespace tl {

namespace {
int64_t number_of(const Tensor& t) {
  return *elements_of<int64_t>("one_hot", ops::to_device(t, Device{DeviceType::CPU}), 1);
}

int64_t checked_count(const Tensor& self, int64_t num_classes) {
  if (self.numel() == 0) {
    TL_CHECK(num_classes > 0, Runtime, "Can not infer total number of classes from empty tensor.");
    return num_classes;
  }
  if (num_classes > 0 && !has_known_values(self)) return num_classes;
  const int64_t smallest = number_of(ops::amin(self)), largest = number_of(ops::amax(self));
  TL_CHECK(smallest >= 0, Runtime, "Class values must be non-negative, got ", smallest, ".");
  if (num_classes == -1) return largest + 1;
  TL_CHECK(num_classes >= 1, Runtime, "num_classes should be positive, got ", num_classes, ".");
  TL_CHECK(largest < num_classes, Runtime, "Class values must be smaller than num_classes, got ", largest,
           " and ", num_classes, ".");
  return num_classes;
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TL_CHECK(self.dtype() == DType::Int64, Runtime,
           "one_hot is only applicable to index tensor of type LongTensor.");
  DimVector sizes(self.sizes());
  sizes.push_back(checked_count(self, num_classes));
  const Tensor zeros = ops::new_full(self, {}, Scalar(0));
  return ops::scatter_value(ops::expand(zeros, sizes), -1, ops::unsqueeze(self, -1), Scalar(1));
}
}  // namespace

TL_KERNEL(one_hot, one_hot)

}  // namespace tl
