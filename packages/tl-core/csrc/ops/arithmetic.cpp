// Arithmetic that chooses among loops or dtypes before it runs one.
#include "elementwise_defs.h"
#include "iter/promotion.h"
#include "ops.h"
#include "ops/copy.h"
#include "ops/elementwise.h"
#include "tensor/geometry.h"

namespace tl {

namespace {
const ElementwiseDef& division(std::optional<std::string_view> rounding_mode) {
  if (!rounding_mode) return kElementwise_div_div;
  TL_CHECK(*rounding_mode == "trunc" || *rounding_mode == "floor", Runtime,
           "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *rounding_mode,
           "'");
  return *rounding_mode == "trunc" ? kElementwise_div_trunc__div_trunc
                                   : kElementwise_floor_divide_floor_divide;
}
Tensor div_mode(const Operand& self, const Operand& other, std::optional<std::string_view> rounding_mode,
                Out out) {
  const TlValue args[] = {self.value(), other.value()};
  return run_elementwise(division(rounding_mode), args, out);
}

Tensor conj_physical(const Tensor& self, Out out) {
  if (is_complex(self.dtype())) return out ? ops::_conj_physical_out(self, *out) : ops::_conj_physical(self);
  if (!out || out.tensor->same(self)) return self;
  return ops::copy_(prepare_out(out, self.sizes(), {out.tensor->dtype(), self.device()}), self);
}
}  // namespace

TL_KERNEL(div_Tensor_mode, div_mode)
TL_KERNEL(conj_physical, conj_physical)

}  // namespace tl
