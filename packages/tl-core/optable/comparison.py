"""Comparison Ops: comparisons, maxima and minima of two, classes of numbers."""

from opgen.row import Binary, Comparison, Composite, Op, Unary

ALL = "bool int float complex"
WITH_HALVES = ALL + " complex32"
NO_SIGN = "none:piecewise constant"
SMALL = "uint8 float16"  # which images and half precision use
TWO = "float32 float64"

ROWS = [
    Unary(
        "isnan",
        to="bool", dtypes=WITH_HALVES + " float8",
        inplace=False, out=False,
        core=True, array_api="isnan",
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="isnan(x)", ref="numpy.isnan",
        doc="Whether each element is not a number.",
        example=">>> tl.isnan(tl.tensor([1.0, tl.nan]))\ntensor([False,  True])",
    ),
    Binary(
        "maximum", overload="", other="Tensor",
        dtypes="bool int float",
        inplace=False,
        core=True, array_api="maximum",
        grad={
            "self": "g * (self > other) + g * 0.5 * (self == other)",
            "other": "g * (other > self) + g * 0.5 * (self == other)",
        },
        expr="max(x, y)", ref="numpy.maximum",
        doc="The larger of two elements; NaN if either is.",
        example=">>> tl.maximum(tl.tensor([1, 5]), tl.tensor([3, 2]))\ntensor([3, 5])",
    ),
    Binary(
        "minimum", overload="", other="Tensor",
        dtypes="bool int float",
        inplace=False,
        core=True, array_api="minimum",
        grad={
            "self": "g * (self < other) + g * 0.5 * (self == other)",
            "other": "g * (other < self) + g * 0.5 * (self == other)",
        },
        expr="min(x, y)", ref="numpy.minimum",
        doc="The smaller of two elements; NaN if either is.",
        example=">>> tl.minimum(tl.tensor([1, 5]), tl.tensor([3, 2]))\ntensor([1, 2])",
    ),
    Comparison(
        "eq",
        dtypes=WITH_HALVES + " float8", also=SMALL,
        core=True, array_api="equal",
        expr="x == y", ref="numpy.equal",
        doc="Whether elements are equal.",
        example=">>> tl.eq(tl.tensor([1, 2]), 2)\ntensor([False,  True])",
    ),
    Comparison(
        "ne",
        dtypes=WITH_HALVES + " float8", also=SMALL,
        aliases=("not_equal",),
        core=True, array_api="not_equal",
        expr="x != y", ref="numpy.not_equal",
        doc="Whether elements differ.",
        example=">>> tl.ne(tl.tensor([1, 2]), 2)\ntensor([ True, False])",
    ),
    Comparison(
        "lt",
        dtypes="bool int float", also=SMALL,
        aliases=("less",),
        core=True, array_api="less",
        expr="x < y", ref="numpy.less",
        doc="Whether the first element is smaller.",
        example=">>> tl.lt(tl.tensor([1, 2]), 2)\ntensor([ True, False])",
    ),
    Comparison(
        "le",
        dtypes="bool int float", also=SMALL,
        aliases=("less_equal",),
        core=True, array_api="less_equal",
        expr="x <= y", ref="numpy.less_equal",
        doc="Whether the first element is not larger.",
        example=">>> tl.le(tl.tensor([1, 2]), 2)\ntensor([True, True])",
    ),
    Comparison(
        "gt",
        dtypes="bool int float", also=SMALL,
        aliases=("greater",),
        core=True, array_api="greater",
        expr="x > y", ref="numpy.greater",
        doc="Whether the first element is larger.",
        example=">>> tl.gt(tl.tensor([1, 2]), 1)\ntensor([False,  True])",
    ),
    Comparison(
        "ge",
        dtypes="bool int float", also=SMALL,
        aliases=("greater_equal",),
        core=True, array_api="greater_equal",
        expr="x >= y", ref="numpy.greater_equal",
        doc="Whether the first element is not smaller.",
        example=">>> tl.ge(tl.tensor([1, 2]), 2)\ntensor([False,  True])",
    ),
    *(
        Unary(
            name, check="bool_out" if out else "",
            to="bool", dtypes=dtypes, loops="wide", hot=TWO,
            inplace=False, out=out,
            reported="" if out else name,
            core=name == "isinf", array_api="" if name in ("isposinf", "isneginf") else name,
            grad=NO_SIGN,
            jvp=NO_SIGN,
            expr=f"{name}(x)", ref=f"numpy.{name}",
            doc=f"Whether each element is {what}.",
        )
        for name, dtypes, out, what in (
            ("isfinite", WITH_HALVES, False, "neither infinite nor NaN"),
            ("isinf", WITH_HALVES, False, "infinite"),
            ("isposinf", "bool int float", True, "positive infinity"),
            ("isneginf", "bool int float", True, "negative infinity"),
            ("signbit", "bool int float", True, "negative, as -0.0 is"),
        )
    ),
    Composite(
        "isreal(Tensor self) -> Tensor", shape="self.shape",
        doc="Whether each element has no imaginary part.",
        example=">>> tl.isreal(tl.tensor([1 + 1j, 2 + 0j]))\ntensor([False,  True])",
    ),
    Composite(
        (
            "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> "
            "Tensor"
        ),
        shape="broadcast(self.shape, other.shape)",
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
        names="equal", stored="float8",
        grad=NO_SIGN,
        jvp=NO_SIGN, batch="refuse:() gives one answer for all examples: use eq and all",
        doc="Whether both have the same shape and elements.",
        example=">>> tl.equal(tl.tensor([1, 2]), tl.tensor([1, 2]))\nTrue",
    ),
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
]  # fmt: skip
