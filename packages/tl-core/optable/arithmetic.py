"""Pointwise Ops: arithmetic, signs, whole numbers."""

from opgen.row import Binary, Composite, Op, Pointwise, Unary, real

ALL = "bool int float complex"
WITH_HALVES = ALL + " complex32"
INEXACT = "float complex"
NO_SIGN = "none:piecewise constant"
COMPLEX = "complex64 complex128"
SMALL = "uint8 float16"  # which images and half precision use
OF_INTEGERS = "none:defined on integers only"
TWO = "float32 float64"

ROWS = [
    Unary(
        "neg", foreach=True,
        dtypes="int float complex complex32",
        not_bool=(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        ),
        also="float16",
        aliases=("negative",),
        sparse="sparse_values",
        core=True, array_api="negative",
        grad={"self": "-g"},
        expr="-x", ref="numpy.negative",
        doc="The negative of each element.",
        example=">>> tl.neg(tl.tensor([1, -2]))\ntensor([-1,  2])",
    ),
    Unary(
        "reciprocal", foreach=True,
        to="float", dtypes=INEXACT, also="float16",
        core=True, array_api="reciprocal",
        grad={"self": "-g * (result * result).conj()"},
        expr="1 / x", ref="numpy.reciprocal", samples=real(0.5, 4),
        doc="One over each element.",
        example=">>> tl.reciprocal(tl.tensor([2.0, -4.0]))\ntensor([ 0.5000, -0.2500])",
    ),
    Unary(
        "abs", cpu="abs", foreach=True, check="modulus_out",
        to="real", dtypes="int float complex complex32 signed_float8", also="float16",
        aliases=("absolute",),
        core=True, array_api="abs",
        grad={"self": "g * self.sgn()"},
        expr="abs(x)", ref="numpy.abs",
        doc="The absolute value of each element, or its modulus.",
        example=">>> tl.abs(tl.tensor([-1, 2]))\ntensor([1, 2])",
    ),
    Unary(
        "sign", foreach=True,
        dtypes="bool int float",
        core=True, array_api="sign",
        grad={"self": "zeros_like(g)"},
        jvp=NO_SIGN,
        expr="sign(x)", ref="numpy.sign",
        doc="-1, 0 or 1 as each element is negative, zero or positive.",
        example=">>> tl.sign(tl.tensor([-5.0, 0.0, 3.0]))\ntensor([-1.,  0.,  1.])",
    ),
    Unary(
        "sgn", cpu="sign",
        dtypes=WITH_HALVES,
        reported="sign_cpu",
        grad={"self": "sgn_backward(self, g, result)"},
        jvp="rule",
        expr="sign(x)",
        doc="The sign of each element; of a complex one, its direction.",
        example=">>> tl.sgn(tl.tensor([3 + 4j]))\ntensor([0.6000+0.8000j])",
    ),
    Binary(
        "add", number_first=True, scalars="Scalar alpha=1",
        dtypes=WITH_HALVES, hot=COMPLEX, also=SMALL,
        shown="input, other, *, alpha=1, out=None", sparse="sparse_add",
        reported="add_stub",
        core=True, array_api="add",
        grad={"self": "g", "other": "g * alpha"},
        expr="x + alpha * y", ref="numpy.add",
        doc="Sums, the second input times alpha.",
        example=">>> tl.add(tl.tensor([1, 2]), 10, alpha=2)\ntensor([21, 22])",
    ),
    Binary(
        "sub", number_first=True, scalars="Scalar alpha=1",
        dtypes="int float complex complex32",
        not_bool=(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
            "a mask, use the `~` or `logical_not()` operator instead; for the difference of two masks, use "
            "the `^` or `logical_xor()` operator."
        ),
        also=SMALL,
        aliases=("subtract",),
        shown="input, other, *, alpha=1, out=None", sparse="sparse_sub",
        reported="add_stub",
        core=True, array_api="subtract",
        grad={"self": "g", "other": "-g * alpha"},
        expr="x - alpha * y", ref="numpy.subtract",
        doc="Differences, the second input times alpha.",
        example=">>> tl.sub(tl.tensor([1, 2]), 10)\ntensor([-9, -8])",
    ),
    Binary(
        "mul", number_first=True, exact_number="either",
        dtypes=WITH_HALVES, hot=COMPLEX, also=SMALL,
        aliases=("multiply",),
        sparse="sparse_values",
        reported="mul_cpu_reduced_float",
        core=True, array_api="multiply",
        grad={"self": "g * other.conj()", "other": "g * self.conj()"},
        expr="x * y", ref="numpy.multiply",
        doc="Products.",
        example=">>> tl.mul(tl.tensor([1, 2]), tl.tensor([[3], [4]]))\ntensor([[3, 6],\n        [4, 8]])",
    ),
    Binary(
        "div", number_first=True, exact_number="last",
        to="float", dtypes="float complex complex32", also="float16",
        aliases=("divide",),
        shown="input, other, *, rounding_mode=None, out=None", sparse="sparse_quotient",
        core=True, array_api="divide",
        grad={"self": "g / other.conj()", "other": "-g * (self / other / other).conj()"},
        expr="x / y", ref="numpy.true_divide", samples=real(0.5, 4),
        doc="Quotients.",
        example=(
            ">>> tl.div(tl.tensor([7, -7]), 2)\ntensor([ 3.5000, -3.5000])\n>>> tl.div(tl.tensor([7, -7]), "
            "2, rounding_mode=\"floor\")\ntensor([ 3, -4])"
        ),
    ),
    Op(
        "div.Tensor_mode(Operand self, Operand other, *, str? rounding_mode) -> Tensor",
        shape="broadcast(sizes(self), sizes(other))",
        inplace=True, out=True, out_name="div.out_mode", aliases=("divide",),
        devices="Any",
        names="unify",
        core=True,
        grad={
            "self": "g / other.conj() if rounding_mode is None else zeros_like(g)",
            "other": "-g * (self / other / other).conj() if rounding_mode is None else zeros_like(g)",
        },
        jvp="elementwise", batch="elementwise",
        doc="Quotients, rounded towards zero (rounding_mode='trunc') or down ('floor').",
    ),
    Binary(
        "_div_trunc", divides=True, overload="", cpu="div_trunc", exact_number="last",
        dtypes="int float",
        function=False, method=False,
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="trunc(x / y)", samples=real(0.5, 4),
        doc="Quotients rounded towards zero.",
    ),
    Composite(
        "true_divide.Tensor(Operand self, Operand other) -> Tensor",
        shape="broadcast(sizes(self), sizes(other))",
        inplace=True, out=True, out_name="true_divide.out",
        doc="Quotients.",
        example=">>> tl.true_divide(tl.tensor([7, -7]), 2)\ntensor([ 3.5000, -3.5000])",
    ),
    Pointwise(
        "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", inputs=3,
        cpu="addcmul",
        dtypes="int float complex complex32",
        reported="addcmul_cpu_out",
        grad={
            "self": "g",
            "tensor1": "g * (tensor2 * value).conj()",
            "tensor2": "g * (tensor1 * value).conj()",
        },
        expr="x + value * y * z",
        doc="The input plus value times the product of two tensors.",
        about={"value": "the factor of the product"},
        example=(
            ">>> tl.addcmul(tl.tensor([1.0]), tl.tensor([2.0]), tl.tensor([3.0]), value=0.5)\ntensor([4.])"
        ),
    ),
    Pointwise(
        "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", inputs=3,
        cpu="addcdiv", check="quotient",
        dtypes=INEXACT,
        reported="addcdiv_cpu_out",
        grad={
            "self": "g",
            "tensor1": "g * (value / tensor2).conj()",
            "tensor2": "-g * (value * tensor1 / (tensor2 * tensor2)).conj()",
        },
        expr="x + value * y / z", samples=real(0.5, 3),
        doc="The input plus value times the quotient of two tensors.",
        about={"value": "the factor of the quotient"},
        example=(
            ">>> tl.addcdiv(tl.tensor([1.0]), tl.tensor([2.0]), tl.tensor([4.0]), value=0.5)\n"
            "tensor([1.2500])"
        ),
    ),
    Pointwise(
        "lerp.Tensor(Tensor self, Tensor end, Operand weight) -> Tensor", inputs=3, cpu="lerp",
        check="one_dtype", exact_number="last",
        dtypes=INEXACT,
        out_name="lerp.Tensor_out", shown="input, end, weight, *, out=None",
        reported="lerp_kernel_tensor",
        grad={
            "self": "g * (1 - weight).conj()",
            "end": "g * weight.conj()",
            "weight": "g * (end - self).conj()",
        },
        expr="x + z * (y - x)",
        doc="The point that lies between the first two as far from the first as the weight says.",
        about={
            "weight": "how far from the start to the end: a tensor or a number",
            "end": "the tensor at weight 1",
        },
        example=">>> tl.lerp(tl.tensor([0.0, 10.0]), tl.tensor([10.0, 20.0]), 0.5)\ntensor([ 5., 15.])",
    ),
    Binary(
        "fmod", divides=True,
        dtypes="int float", loops="wide", hot=TWO,
        out_name="fmod.Tensor_out",
        core=True,
        grad={"self": "g", "other": "-g * self.div(other, rounding_mode='trunc')"},
        expr="x - trunc(x / y) * y", ref="numpy.fmod", samples=real(0.5, 4),
        doc="What a division towards zero leaves; it has the dividend's sign.",
        example=">>> tl.fmod(tl.tensor([-3, 3]), 2)\ntensor([-1,  1])",
    ),
    Binary(
        "remainder", divides=True,
        dtypes="int float",
        out_name="remainder.Tensor_out",
        core=True, array_api="remainder",
        grad={"self": "g", "other": "-g * self.floor_divide(other)"},
        expr="x - floor(x / y) * y", ref="numpy.remainder", samples=real(0.5, 4),
        doc="What a division rounded down leaves; it has the divisor's sign.",
        example=">>> tl.remainder(tl.tensor([-3, 3]), 2)\ntensor([1, 1])",
    ),
    Pointwise(
        "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", inputs=2, cpu="remainder",
        divides=True,
        dtypes="int float",
        inplace=False, method=False,
        grad={"other": "-g * floor_divide(self, other)"},
        expr="x - floor(x / y) * y", samples=real(0.5, 4),
        doc="What a number's division rounded down leaves.",
    ),
    Binary(
        "floor_divide", divides=True, overload="", number_first=True, exact_number="last",
        dtypes="int float",
        reported="div_floor_cpu",
        array_api="floor_divide",
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="floor(x / y)", ref="numpy.floor_divide", samples=real(0.5, 4),
        doc="Quotients rounded down.",
        example=">>> tl.floor_divide(tl.tensor([7, -7]), 2)\ntensor([ 3, -4])",
    ),
    Binary(
        "copysign",
        to="float", dtypes="float", loops="wide", hot=TWO,
        array_api="copysign",
        grad={"self": "where(self == 0, 0, g * (result / self))", "other": "zeros_like(g)"},
        expr="copysign(x, y)", ref="numpy.copysign",
        doc="The size of the first element with the sign of the second.",
        example=">>> tl.copysign(tl.tensor([1.0, 2.0]), tl.tensor([-0.0, 3.0]))\ntensor([-1.,  2.])",
    ),
    Op(
        "heaviside(Tensor self, Tensor values) -> Tensor", shape="broadcast(self.shape, values.shape)",
        inplace=True, out=True, devices="Any",
        names="unify",
        grad="none:not implemented for heaviside",
        jvp=NO_SIGN, batch="elementwise",
        doc="0 for negative elements, 1 for positive ones, the second input at 0.",
        example=(
            ">>> tl.heaviside(tl.tensor([-1.0, 0.0, 2.0]), tl.tensor([0.5]))\ntensor([0.0000, 0.5000, "
            "1.0000])"
        ),
    ),
    Binary(
        "_heaviside", overload="", other="Tensor", cpu="heaviside",
        dtypes="bool int float", loops="wide", hot="",
        inplace=False, function=False, method=False,
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="heaviside(x, y)", ref="numpy.heaviside",
        doc="What heaviside runs.",
    ),
    Op(
        "rsub.Tensor(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor",
        shape="broadcast(self.shape, other.shape)", kernel="rsub",
        out=True, out_name="rsub.Tensor_out", devices="Any",
        names="unify", reported="add_stub",
        grad={"self": "-g * alpha", "other": "g"},
        jvp="elementwise", batch="elementwise",
        doc="other - alpha * self.",
        example=">>> tl.rsub(tl.tensor([1, 2]), 10)\ntensor([9, 8])",
    ),
    Composite(
        "positive(Tensor(a) self) -> Tensor(a)", shape="self.shape",
        doc="The tensor itself; bool is refused.",
        example=">>> tl.positive(tl.tensor([1, -2]))\ntensor([ 1, -2])",
    ),
    Op(
        "ldexp.Tensor(Tensor self, Tensor other) -> Tensor", shape="broadcast(self.shape, other.shape)",
        kernel="ldexp",
        inplace=True, out=True, out_name="ldexp.out", devices="Any",
        names="unify",
        grad={"self": "ldexp(g, other.conj())", "other": "g * (result * 0.6931471805599453).conj()"},
        jvp="elementwise", batch="elementwise",
        doc="self * 2 ** other.",
        example=">>> tl.ldexp(tl.tensor([1.0]), tl.tensor([3]))\ntensor([8.])",
    ),
    *(
        Binary(
            name, overload="", other="Tensor",
            dtypes="int", once=True,
            grad=OF_INTEGERS,
            jvp=OF_INTEGERS,
            expr=f"{name}(x, y)", ref=f"numpy.{name}",
            doc=f"The {what} of two whole numbers.",
        )
        for name, what in (("gcd", "greatest common divisor"), ("lcm", "least common multiple"))
    ),
]  # fmt: skip
