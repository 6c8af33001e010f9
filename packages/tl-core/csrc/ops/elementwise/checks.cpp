// Checks of elementwise rows that go beyond their dtypes.
#include "ops/elementwise/checks.h"

#include "iter/dtypes.h"

namespace tl {

namespace {
bool is_tensor(const TlValue& v) { return v.tag == TL_TENSOR; }
DType input_dtype(const TlValue& v) { return Unbox<Tensor>::get(v).dtype(); }
}  // namespace

void check_not_bool(const ElementwiseDef& def, const TlValue* args, Out) {
  for (int i = 0; i < def.n_inputs; ++i) {
    const bool is_bool =
        is_tensor(args[i]) ? input_dtype(args[i]) == DType::Bool : Scalar::from(args[i]).is_bool();
    if (is_bool) fail(ErrorKind::Runtime, def.not_bool);
  }
}

void check_modulus_out(const ElementwiseDef& def, const TlValue* args, Out out) {
  TL_CHECK(!out.is_first_input || !is_complex(input_dtype(args[0])), Runtime, "In-place ", def.name,
           " is not supported for complex tensors.");
}

void check_bool_out(const ElementwiseDef& def, const TlValue*, Out out) {
  TL_CHECK(!out || out.tensor->dtype() == DType::Bool, Runtime, def.name,
           " does not support non-boolean outputs.");
}

void check_quotient(const ElementwiseDef& def, const TlValue* args, Out) {
  TL_CHECK(!is_integral(input_dtype(args[1]), true) || !is_integral(input_dtype(args[2]), true), Runtime,
           "Integer division with ", def.name, " is no longer supported: the quotient of ",
           scalar_type_name(input_dtype(args[1])), " and ", scalar_type_name(input_dtype(args[2])),
           " could be rounded or not. Write input + value * torch.trunc(tensor1 / tensor2) for the one, or "
           "input + value * (tensor1 / tensor2) for the other.");
}

void check_one_dtype(const ElementwiseDef&, const TlValue* args, Out) {
  const DType dtype = input_dtype(args[0]);
  const auto check = [&](const TlValue& v, const char* name) {
    TL_CHECK(input_dtype(v) == dtype, Runtime, "expected dtype ", dtype_name(dtype), " for `", name,
             "` but got dtype ", dtype_name(input_dtype(v)));
  };
  check(args[1], "end");
  if (is_tensor(args[2]) && Unbox<Tensor>::get(args[2]).dim() > 0) check(args[2], "weight");
}

void check_bounds(const ElementwiseDef& def, const TlValue* args, Out) {
  const DType dtype = input_dtype(args[0]);
  if (is_unsigned(dtype) && dtype != DType::Bool)
    for (const int i : {1, 2})
      TL_CHECK(Scalar::from(args[i]).to_double() >= 0, Runtime, "cannot do ", def.name,
               " on an unsigned type with negative limits");
}

}  // namespace tl
