// Operators on quantized tensors that are frequent and short. Each works on the integers.
#include "dispatch/quantized.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "ops.h"
#include "ops/elementwise/bytes.h"
#include "tensor/quantizer.h"

namespace tl {

namespace {
const Tensor& tensor_at(const TlValue* args, int i) { return reinterpret_cast<const Tensor&>(args[i].u.t); }

QuantizerPtr shared_quantizer(const Tensor& t) { return QuantizerPtr::share(quantizer_of(*t.impl())); }

bool has_one_scale(const Tensor& t) { return !quantizer_of(*t.impl())->is_per_channel(); }
bool is_of_bytes(const Tensor& t) { return t.dtype() != stored::QInt32; }

// The integer of the number 0, below which no result is.
int64_t lowest_of_relu(const Tensor& t) {
  constexpr int64_t kSmallest = std::numeric_limits<int32_t>::min();
  const int64_t smallest = t.dtype() == stored::QInt8 ? -128 : is_of_bytes(t) ? 0 : kSmallest;
  return std::max(quantizer_of(*t.impl())->zero_point, smallest);
}

bool relu(const TlValue* args, TlValue* rets) {
  const Tensor& self = tensor_at(args, 0);
  if (!has_one_scale(self)) return false;
  const Tensor integers = integers_of(self);
  const int64_t low = lowest_of_relu(self);
  rets[0] = owned(
      quantized(is_of_bytes(self) ? clamped_bytes(integers, low) : ops::clamp_min(integers, Scalar(low)),
                self.dtype(), shared_quantizer(self)));
  return true;
}

bool relu_(const TlValue* args, TlValue* rets) {
  const Tensor& self = tensor_at(args, 0);
  if (!has_one_scale(self)) return false;
  if (is_of_bytes(self))
    clamp_min_bytes_(integers_of(self), lowest_of_relu(self));
  else
    ops::clamp_min_(integers_of(self), Scalar(lowest_of_relu(self)));
  rets[0] = owned(self);
  return true;
}

bool clone(const TlValue* args, TlValue* rets) {
  const Tensor& self = tensor_at(args, 0);
  const Tensor integers = ops::clone(integers_of(self), Unbox<std::optional<MemoryFormat>>::get(args[1]));
  rets[0] = owned(quantized(integers, self.dtype(), shared_quantizer(self)));
  return true;
}

// The target takes the quantizer of a quantized source.
bool copy_(const TlValue* args, TlValue* rets) {
  const Tensor &self = tensor_at(args, 0), &src = tensor_at(args, 1);
  if (!has_quantizer(self) || !has_quantizer(src)) return false;
  TL_CHECK(self.dtype() == src.dtype(), Runtime, "copy_: expected a source of torch.",
           dtype_name(self.dtype()), ", but got torch.", dtype_name(src.dtype()));
  ops::copy_(integers_of(self), integers_of(src));
  if (!self.same(src)) set_quantizer(*self.impl(), shared_quantizer(src));
  rets[0] = owned(self);
  return true;
}

bool equal(const TlValue* args, TlValue* rets) {
  const Tensor &self = tensor_at(args, 0), &other = tensor_at(args, 1);
  if (!has_quantizer(self) || !has_quantizer(other)) return false;
  const Quantizer &one = *quantizer_of(*self.impl()), &two = *quantizer_of(*other.impl());
  if (one.is_per_channel() || two.is_per_channel()) return false;
  const bool same = self.dtype() == other.dtype() && one.scale == two.scale &&
                    one.zero_point == two.zero_point && std::ranges::equal(self.sizes(), other.sizes());
  rets[0] = owned(same && ops::equal(integers_of(self), integers_of(other)));
  return true;
}
// Of tensors that share scale and zero point. Others have the first one's, which needs their numbers.
bool cat(const TlValue* args, TlValue* rets) {
  const TensorList tensors = Unbox<TensorList>::get(args[0]);
  if (tensors.empty() || !has_quantizer(tensors[0])) return false;
  const Quantizer& first = *quantizer_of(*tensors[0].impl());
  std::vector<Tensor> integers;
  for (const Tensor& t : tensors) {
    if (!has_quantizer(t) || t.dtype() != tensors[0].dtype() || !is_of_bytes(t)) return false;
    const Quantizer& own = *quantizer_of(*t.impl());
    if (own.is_per_channel() || own.scale != first.scale || own.zero_point != first.zero_point) return false;
    integers.push_back(integers_of(t));
  }
  const Tensor joined = ops::cat(integers, Unbox<int64_t>::get(args[1]));
  rets[0] = owned(quantized(joined, tensors[0].dtype(), shared_quantizer(tensors[0])));
  return true;
}
}  // namespace

const NativeQuantizedRule kNativeQuantizedRules[] = {
    {"relu", relu},   {"relu_", relu_}, {"clone", clone},   {"copy_", copy_},
    {"equal", equal}, {"cat", cat},     {nullptr, nullptr},
};

}  // namespace tl
