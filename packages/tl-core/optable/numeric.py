"""Rounding, signs, classification, integers' arithmetic: elementwise functions that are quick to compute."""

from opgen.row import Binary, Composite, Op, Pointwise, Unary, real

ALL = "bool int float complex"
NO_SIGN = "none:piecewise constant"
OF_INTEGERS = "none:defined on integers only"
TWO = "float32 float64"

ROWS = [
    # ---- rounding ------------------------------------------------------------------------------------------
    Unary(
        "trunc",
        dtypes="int float", loops="wide", hot=TWO,
        aliases=("fix",),
        grad={"self": "zeros_like(g)"},
        jvp=NO_SIGN,
        expr="trunc(x)", ref="numpy.trunc",
        doc="Each element without its fraction.",
        example=">>> tl.trunc(tl.tensor([-1.5, 1.5]))\ntensor([-1.,  1.])",
    ),
    Unary(
        "round",
        dtypes="int float", loops="wide", hot=TWO,
        grad={"self": "zeros_like(g)"},
        jvp=NO_SIGN,
        expr="round(x)", ref="numpy.round",
        doc="The nearest whole number, the even one of two.",
        example=(
            ">>> tl.round(tl.tensor([0.5, 1.5, 2.4]))\ntensor([0., 2., 2.])\n>>> "
            "tl.round(tl.tensor([1.2345]), decimals=2)\ntensor([1.2300])"
        ),
    ),
    Op(
        "round.decimals(Tensor self, *, int decimals) -> Tensor",
        inplace=True, out=True, shown="input, *, decimals=0, out=None", devices="Any",
        grad={"self": "zeros_like(g)"},
        jvp=NO_SIGN, batch="elementwise",
        doc="Rounded to so many digits after the point, or before it if negative.",
    ),
    Pointwise(
        "_round_decimals(Tensor self, Scalar factor, Scalar divisor) -> Tensor", inputs=1,
        cpu="round_decimals",
        dtypes="float", loops="wide", hot=TWO,
        function=False, method=False,
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="round(x * factor / divisor) / factor * divisor",
        doc="What round runs with decimals: one of the two numbers is a power of ten, the other 1.",
    ),
    Unary(
        "frac",
        dtypes="float", loops="wide", hot=TWO,
        grad={"self": "g"},
        expr="x - trunc(x)",
        doc="The fraction of each element, with its sign.",
        example=">>> tl.frac(tl.tensor([-1.5, 1.25]))\ntensor([-0.5000,  0.2500])",
    ),
    Binary(
        "fmod", divides=True,
        dtypes="int float", loops="wide", hot=TWO,
        grad={"self": "g", "other": "-g * self.div(other, rounding_mode='trunc')"},
        expr="x - trunc(x / y) * y", ref="numpy.fmod", samples=real(0.5, 4),
        doc="What a division towards zero leaves; it has the dividend's sign.",
        example=">>> tl.fmod(tl.tensor([-3, 3]), 2)\ntensor([-1,  1])",
    ),
    Binary(
        "remainder", divides=True,
        dtypes="int float",
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
        "floor_divide", divides=True, overload="", number_first=True,
        dtypes="int float",
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="floor(x / y)", ref="numpy.floor_divide", samples=real(0.5, 4),
        doc="Quotients rounded down.",
        example=">>> tl.floor_divide(tl.tensor([7, -7]), 2)\ntensor([ 3, -4])",
    ),
    # ---- classes of numbers --------------------------------------------------------------------------------
    *(
        Unary(
            name,
            to="bool", dtypes=dtypes, loops="wide", hot=TWO,
            inplace=False, out=out,
            grad=NO_SIGN,
            jvp=NO_SIGN,
            expr=f"{name}(x)", ref=f"numpy.{name}",
            doc=f"Whether each element is {what}.",
        )
        for name, dtypes, out, what in (
            ("isfinite", ALL, False, "neither infinite nor NaN"),
            ("isinf", ALL, False, "infinite"),
            ("isposinf", "bool int float", True, "positive infinity"),
            ("isneginf", "bool int float", True, "negative infinity"),
            ("signbit", "bool int float", True, "negative, as -0.0 is"),
        )
    ),
    Composite(
        "isreal(Tensor self) -> Tensor",
        doc="Whether each element has no imaginary part.",
        example=">>> tl.isreal(tl.tensor([1 + 1j, 2 + 0j]))\ntensor([False,  True])",
    ),
    Composite(
        (
            "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> "
            "Tensor"
        ),
        doc="Whether |self - other| <= atol + rtol * |other|.",
        example=">>> tl.isclose(tl.tensor([1.0, 2.0]), tl.tensor([1.0 + 1e-9, 2.1]))\ntensor([ True, False])",
    ),
    Composite(
        (
            "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) "
            "-> bool"
        ),
        doc="Whether |self - other| <= atol + rtol * |other| everywhere.",
        example=">>> tl.allclose(tl.tensor([1.0]), tl.tensor([1.0 + 1e-9]))\nTrue",
    ),
    Op(
        "equal(Tensor self, Tensor other) -> bool",
        devices="CpuOnly",
        grad=NO_SIGN,
        jvp=NO_SIGN, batch="loop",
        doc="Whether both have the same shape and elements.",
        example=">>> tl.equal(tl.tensor([1, 2]), tl.tensor([1, 2]))\nTrue",
    ),
    Op(
        "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
        inplace=True, out=True, devices="Any",
        grad={"self": "g * isfinite(self)"},
        jvp="elementwise", batch="elementwise",
        doc="NaN and the infinities replaced; by default with 0 and the type's largest and smallest number.",
        example=">>> tl.nan_to_num(tl.tensor([tl.nan, tl.inf]), posinf=9.0)\ntensor([0., 9.])",
    ),
    Pointwise(
        "_nan_to_num(Tensor self, *, Scalar nan, Scalar posinf, Scalar neginf) -> Tensor", inputs=1,
        cpu="nan_to_num",
        dtypes=ALL, loops="wide", hot=TWO,
        function=False, method=False,
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="x",
        doc="What nan_to_num runs.",
    ),
    # ---- two inputs ----------------------------------------------------------------------------------------
    Binary(
        "fmax", overload="", other="Tensor",
        dtypes="bool int float", loops="wide", hot=TWO,
        inplace=False,
        grad={
            "self": "g.masked_fill(((self >= other) | other.isnan()).logical_not(), 0)",
            "other": "g.masked_fill((self >= other) | other.isnan(), 0)",
        },
        expr="max(x, y)", ref="numpy.fmax",
        doc="The larger of two elements; of a NaN and a number, the number.",
        example=">>> tl.fmax(tl.tensor([1.0, tl.nan]), tl.tensor([0.0, 2.0]))\ntensor([1., 2.])",
    ),
    Binary(
        "fmin", overload="", other="Tensor",
        dtypes="bool int float", loops="wide", hot=TWO,
        inplace=False,
        grad={
            "self": "g.masked_fill(((self <= other) | other.isnan()).logical_not(), 0)",
            "other": "g.masked_fill((self <= other) | other.isnan(), 0)",
        },
        expr="min(x, y)", ref="numpy.fmin",
        doc="The smaller of two elements; of a NaN and a number, the number.",
        example=">>> tl.fmin(tl.tensor([1.0, tl.nan]), tl.tensor([0.0, 2.0]))\ntensor([0., 2.])",
    ),
    Binary(
        "copysign",
        to="float", dtypes="float", loops="wide", hot=TWO,
        grad={"self": "where(self == 0, 0, g * (result / self))", "other": "zeros_like(g)"},
        expr="copysign(x, y)", ref="numpy.copysign",
        doc="The size of the first element with the sign of the second.",
        example=">>> tl.copysign(tl.tensor([1.0, 2.0]), tl.tensor([-0.0, 3.0]))\ntensor([-1.,  2.])",
    ),
    Op(
        "heaviside(Tensor self, Tensor values) -> Tensor",
        inplace=True, out=True, devices="Any",
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
        "rsub.Tensor(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor", kernel="rsub",
        out=True, out_name="rsub.Tensor_out", devices="Any",
        grad={"self": "-g * alpha", "other": "g"},
        jvp="elementwise", batch="elementwise",
        doc="other - alpha * self.",
        example=">>> tl.rsub(tl.tensor([1, 2]), 10)\ntensor([9, 8])",
    ),
    Op(
        "deg2rad(Tensor self) -> Tensor",
        inplace=True, out=True, devices="Any",
        grad={"self": "g.deg2rad()"},
        jvp="linear", batch="elementwise",
        doc="Degrees as radians.",
        example=">>> tl.deg2rad(tl.tensor([180.0]))\ntensor([3.1416])",
    ),
    Op(
        "rad2deg(Tensor self) -> Tensor",
        inplace=True, out=True, devices="Any",
        grad={"self": "g.rad2deg()"},
        jvp="linear", batch="elementwise",
        doc="Radians as degrees.",
        example=">>> tl.rad2deg(tl.tensor([3.14159265]))\ntensor([180.])",
    ),
    Composite(
        "resolve_conj(Tensor(a) self) -> Tensor(a)",
        doc="The tensor with its conjugates written out; itself if they are.",
        example=">>> tl.resolve_conj(tl.tensor([1 + 2j]).conj()).is_conj()\nFalse",
    ),
    Composite(
        "resolve_neg(Tensor(a) self) -> Tensor(a)",
        doc="The tensor with its negatives written out; itself if they are.",
        example=">>> tl.resolve_neg(tl.tensor([1.0]))\ntensor([1.])",
    ),
    Composite(
        "positive(Tensor(a) self) -> Tensor(a)",
        doc="The tensor itself; bool is refused.",
        example=">>> tl.positive(tl.tensor([1, -2]))\ntensor([ 1, -2])",
    ),
    Op(
        "ldexp.Tensor(Tensor self, Tensor other) -> Tensor", kernel="ldexp",
        inplace=True, out=True, out_name="ldexp.out", devices="Any",
        grad={"self": "g * exp2(other).conj()", "other": "g * (result * 0.6931471805599453).conj()"},
        jvp="elementwise", batch="elementwise",
        doc="self * 2 ** other.",
        example=">>> tl.ldexp(tl.tensor([1.0]), tl.tensor([3]))\ntensor([8.])",
    ),
    *(
        Op(
            f"float_power.{overload}({first} self, {second} exponent) -> Tensor",
            kernel=f"float_power_{overload}",
            inplace=first == "Tensor", out=True, method=first == "Tensor", devices="Any",
            grad=grad,
            jvp="elementwise", batch="elementwise",
            doc="Each element to a power, in double precision.",
            example=">>> tl.float_power(tl.tensor([2, 3]), 2)\ntensor([4., 9.], dtype=torch.float64)",
        )
        for overload, first, second, grad in (
            (
                "Tensor_Tensor",
                "Tensor",
                "Tensor",
                {
                    "self": "pow_backward(g, self, exponent)",
                    "exponent": "pow_backward_exponent(g, self, exponent, result)",
                },
            ),
            ("Scalar", "Scalar", "Tensor", {"exponent": "pow_backward_exponent(g, self, exponent, result)"}),
            ("Tensor_Scalar", "Tensor", "Scalar", {"self": "pow_backward(g, self, exponent)"}),
        )
    ),
    # ---- integers ------------------------------------------------------------------------------------------
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
    *(row for name, cpu, ref, what in (
          ("bitwise_left_shift", "lshift", "numpy.left_shift", "left"),
          ("bitwise_right_shift", "rshift", "numpy.right_shift", "right"),
      )
      for row in (
          Binary(
              name, cpu=cpu,
              dtypes="int", loops="widest", hot="int64",
              grad=OF_INTEGERS,
              jvp=OF_INTEGERS,
              expr=f"{cpu}(x, y)", ref=ref, samples=real(0, 6),
              doc=f"Each element's bits moved to the {what}.",
          ),
          Pointwise(
              f"{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", inputs=2, cpu=cpu,
              dtypes="int", loops="widest", hot="int64",
              inplace=False, out=False, method=False,
              grad=OF_INTEGERS,
              jvp=OF_INTEGERS,
              expr=f"{cpu}(x, y)", ref=ref, samples=real(0, 6),
              doc=f"A number's bits moved to the {what}.",
          ))),
]  # fmt: skip
