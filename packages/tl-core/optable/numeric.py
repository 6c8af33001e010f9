"""Rounding, signs, classification, integers' arithmetic: elementwise functions that are quick to compute."""

from opgen.row import Binary, Composite, Op, Pointwise, Unary, real

ALL = "bool int float complex"
NO_SIGN = "none:piecewise constant"
OF_INTEGERS = "none:defined on integers only"
TWO = "float32 float64"

ROWS = [
    # ---- rounding ----------------------------------------------------------------------------------------------------
    Unary("trunc", dtypes="int float", loops="wide", hot=TWO, aliases=("fix",), expr="trunc(x)", grad={"self": "zeros_like(g)"}, jvp=NO_SIGN,
          ref="numpy.trunc", doc="Each element without its fraction."),
    Unary("round", dtypes="int float", loops="wide", hot=TWO, expr="round(x)", grad={"self": "zeros_like(g)"}, jvp=NO_SIGN, ref="numpy.round",
          doc="The nearest whole number, the even one of two."),
    Op("round.decimals(Tensor self, *, int decimals) -> Tensor", devices="Any", inplace=True, out=True, grad={"self": "zeros_like(g)"}, jvp=NO_SIGN,
       batch="elementwise", shown="input, *, decimals=0, out=None", doc="Rounded to so many digits after the point, or before it if negative."),
    Pointwise("_round_decimals(Tensor self, Scalar factor, Scalar divisor) -> Tensor", inputs=1, cpu="round_decimals", dtypes="float", loops="wide",
              hot=TWO, expr="round(x * factor / divisor) / factor * divisor", grad=NO_SIGN, jvp=NO_SIGN, function=False, method=False,
              doc="What round runs with decimals: one of the two numbers is a power of ten, the other 1."),
    Unary("frac", dtypes="float", loops="wide", hot=TWO, expr="x - trunc(x)", grad={"self": "g"}, doc="The fraction of each element, with its sign."),
    Binary("fmod", dtypes="int float", loops="wide", hot=TWO, expr="x - trunc(x / y) * y", ref="numpy.fmod", samples=real(0.5, 4),
           grad={"self": "g", "other": "-g * self.div(other, rounding_mode='trunc')"},
           doc="What a division towards zero leaves; it has the dividend's sign."),
    # ---- classes of numbers ------------------------------------------------------------------------------------------
    *(Unary(name, to="bool", dtypes=dtypes, loops="wide", hot=TWO, expr=f"{name}(x)", grad=NO_SIGN, jvp=NO_SIGN, inplace=False, out=out,
            ref=f"numpy.{name}", doc=f"Whether each element is {what}.")
      for name, dtypes, out, what in (
          ("isfinite", ALL, False, "neither infinite nor NaN"), ("isinf", ALL, False, "infinite"),
          ("isposinf", "bool int float", True, "positive infinity"), ("isneginf", "bool int float", True, "negative infinity"),
          ("signbit", "bool int float", True, "negative, as -0.0 is"))),
    Composite("isreal(Tensor self) -> Tensor", doc="Whether each element has no imaginary part."),
    Composite("isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
              doc="Whether |self - other| <= atol + rtol * |other|."),
    Composite("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
              doc="Whether |self - other| <= atol + rtol * |other| everywhere."),
    Op("equal(Tensor self, Tensor other) -> bool", devices="CpuOnly", grad=NO_SIGN, jvp=NO_SIGN, batch="loop", doc="Whether both have the same shape and elements."),
    Op("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", devices="Any", inplace=True, out=True,
       jvp="elementwise", batch="elementwise", grad={"self": "g * isfinite(self)"},
       doc="NaN and the infinities replaced; by default with 0 and the type's largest and smallest number."),
    Pointwise("_nan_to_num(Tensor self, *, Scalar nan, Scalar posinf, Scalar neginf) -> Tensor", inputs=1, cpu="nan_to_num", loops="wide", hot=TWO,
              dtypes=ALL, expr="x", grad=NO_SIGN, jvp=NO_SIGN, function=False, method=False, doc="What nan_to_num runs."),
    # ---- two inputs --------------------------------------------------------------------------------------------------
    Binary("fmax", overload="", other="Tensor", dtypes="bool int float", loops="wide", hot=TWO, inplace=False, expr="max(x, y)", ref="numpy.fmax",
           grad={"self": "g.masked_fill(((self >= other) | other.isnan()).logical_not(), 0)", "other": "g.masked_fill((self >= other) | other.isnan(), 0)"},
           doc="The larger of two elements; of a NaN and a number, the number."),
    Binary("fmin", overload="", other="Tensor", dtypes="bool int float", loops="wide", hot=TWO, inplace=False, expr="min(x, y)", ref="numpy.fmin",
           grad={"self": "g.masked_fill(((self <= other) | other.isnan()).logical_not(), 0)", "other": "g.masked_fill((self <= other) | other.isnan(), 0)"},
           doc="The smaller of two elements; of a NaN and a number, the number."),
    Binary("copysign", to="float", dtypes="float", loops="wide", hot=TWO, expr="copysign(x, y)", ref="numpy.copysign",
           grad={"self": "where(self == 0, 0, g * (result / self))", "other": "zeros_like(g)"},
           doc="The size of the first element with the sign of the second."),
    Op("heaviside(Tensor self, Tensor values) -> Tensor", devices="Any", inplace=True, out=True, grad="none:not implemented for heaviside", jvp=NO_SIGN,
       batch="elementwise", doc="0 for negative elements, 1 for positive ones, the second input at 0."),
    Binary("_heaviside", overload="", other="Tensor", cpu="heaviside", dtypes="bool int float", loops="wide", hot="", inplace=False, expr="heaviside(x, y)",
           ref="numpy.heaviside", grad=NO_SIGN, jvp=NO_SIGN, function=False, method=False, doc="What heaviside runs."),
    Op("rsub.Tensor(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor", devices="Any", jvp="elementwise", batch="elementwise",
       grad={"self": "-g * alpha", "other": "g"}, kernel="rsub", out=True, out_name="rsub.Tensor_out", doc="other - alpha * self."),
    Op("deg2rad(Tensor self) -> Tensor", devices="Any", inplace=True, out=True, jvp="linear", batch="elementwise", grad={"self": "g.deg2rad()"},
       doc="Degrees as radians."),
    Op("rad2deg(Tensor self) -> Tensor", devices="Any", inplace=True, out=True, jvp="linear", batch="elementwise", grad={"self": "g.rad2deg()"},
       doc="Radians as degrees."),
    Composite("resolve_conj(Tensor(a) self) -> Tensor(a)", doc="The tensor with its conjugates written out."),
    Composite("resolve_neg(Tensor(a) self) -> Tensor(a)", doc="The tensor with its negatives written out, as they always are."),
    Composite("positive(Tensor(a) self) -> Tensor(a)", doc="The tensor itself; bool is refused."),
    Op("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", kernel="ldexp", devices="Any", inplace=True, out=True, out_name="ldexp.out", jvp="elementwise", batch="elementwise",
       grad={"self": "g * exp2(other).conj()", "other": "g * (result * 0.6931471805599453).conj()"}, doc="self * 2 ** other."),
    *(Op(f"float_power.{overload}({first} self, {second} exponent) -> Tensor", kernel=f"float_power_{overload}", devices="Any", inplace=first == "Tensor",
         method=first == "Tensor", out=True, jvp="elementwise", batch="elementwise", grad=grad, doc="Each element to a power, in double precision.")
      for overload, first, second, grad in (
          ("Tensor_Tensor", "Tensor", "Tensor", {"self": "pow_backward(g, self, exponent)", "exponent": "pow_backward_exponent(g, self, exponent, result)"}),
          ("Scalar", "Scalar", "Tensor", {"exponent": "pow_backward_exponent(g, self, exponent, result)"}),
          ("Tensor_Scalar", "Tensor", "Scalar", {"self": "pow_backward(g, self, exponent)"}))),
    # ---- integers ----------------------------------------------------------------------------------------------------
    *(Binary(name, overload="", other="Tensor", dtypes="int", once=True, expr=f"{name}(x, y)", grad=OF_INTEGERS, jvp=OF_INTEGERS,
             ref=f"numpy.{name}", doc=f"The {what} of two whole numbers.")
      for name, what in (("gcd", "greatest common divisor"), ("lcm", "least common multiple"))),
    *(row for name, cpu, ref, what in (("bitwise_left_shift", "lshift", "numpy.left_shift", "left"), ("bitwise_right_shift", "rshift", "numpy.right_shift", "right"))
      for row in (
          Binary(name, dtypes="int", cpu=cpu, once=True, expr=f"{cpu}(x, y)", grad=OF_INTEGERS, jvp=OF_INTEGERS, ref=ref, samples=real(0, 6),
                 doc=f"Each element's bits moved to the {what}."),
          Pointwise(f"{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", inputs=2, cpu=cpu, dtypes="int", once=True, method=False,
                    inplace=False, out=False, expr=f"{cpu}(x, y)", grad=OF_INTEGERS, jvp=OF_INTEGERS, ref=ref, samples=real(0, 6),
                    doc=f"A number's bits moved to the {what}."))),
]  # fmt: skip
