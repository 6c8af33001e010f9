"""Pointwise Ops: rounding and bounds."""

from opgen.row import Composite, Op, Pointwise, Unary

ALL = "bool int float complex"
NO_SIGN = "none:piecewise constant"
TWO = "float32 float64"

ROWS = [
    Unary(
        "floor", foreach=True,
        dtypes="int float",
        reported="floor_vml_cpu",
        grad={"self": "zeros_like(g)"},
        jvp=NO_SIGN,
        expr="floor(x)", ref="numpy.floor",
        doc="The largest integer not above each element.",
        example=">>> tl.floor(tl.tensor([-1.5, 1.5]))\ntensor([-2.,  1.])",
    ),
    Unary(
        "ceil", foreach=True,
        dtypes="int float",
        reported="ceil_vml_cpu",
        grad={"self": "zeros_like(g)"},
        jvp=NO_SIGN,
        expr="ceil(x)", ref="numpy.ceil",
        doc="The smallest integer not below each element.",
        example=">>> tl.ceil(tl.tensor([-1.5, 1.5]))\ntensor([-1.,  2.])",
    ),
    Pointwise(
        "clamp_min(Tensor self, Operand min) -> Tensor", inputs=2, cpu="maximum", in_range=True,
        dtypes="bool int float",
        grad={"self": "where(self >= min, g, 0)", "min": "where(self < min, g, 0)"},
        expr="max(x, y)",
        doc="Each element, or the bound if that is larger.",
        example=">>> tl.clamp_min(tl.tensor([-1, 2]), 0)\ntensor([0, 2])",
    ),
    Pointwise(
        "clamp_max(Tensor self, Operand max) -> Tensor", inputs=2, cpu="minimum", in_range=True,
        dtypes="bool int float",
        grad={"self": "where(self <= max, g, 0)", "max": "where(self > max, g, 0)"},
        expr="min(x, y)",
        doc="Each element, or the bound if that is smaller.",
        example=">>> tl.clamp_max(tl.tensor([-1, 2]), 0)\ntensor([-1,  0])",
    ),
    Op(
        "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", shape="self.shape",
        inplace=True, out=True, aliases=("clip",),
        devices="Any",
        names="unify",
        grad={"self": "clamp_backward(g, self, min, max)"},
        jvp="elementwise", batch="elementwise",
        ref="numpy.clip",
        doc="Each element, moved to the nearer of two bounds if it lies outside.",
        example=">>> tl.clamp(tl.tensor([-3, 0, 3]), -1, 1)\ntensor([-1,  0,  1])",
    ),
    Op(
        "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
        shape="broadcast(self.shape, sizes(min), sizes(max))",
        inplace=True, out=True, out_name="clamp.Tensor_out", aliases=("clip",),
        devices="Any",
        names="unify",
        grad={
            "self": "clamp_backward(g, self, min, max)",
            "min": "clamp_backward_bound(g, self, min, max, False)",
            "max": "clamp_backward_bound(g, self, min, max, True)",
        },
        jvp="elementwise", batch="elementwise",
        doc=(
            "Each element, moved to the nearer of its bounds if it lies outside; where they cross, the upper "
            "one."
        ),
    ),
    Pointwise(
        "_clamp(Tensor self, Operand min, Operand max) -> Tensor", inputs=3, cpu="clamp_tensor",
        in_range=True,
        dtypes="int float",
        function=False, method=False,
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="min(max(x, y), z)",
        doc="What clamp runs with two bounds.",
    ),
    Composite(
        "clamp_backward(Tensor grad, Tensor self, Operand? min, Operand? max) -> Tensor",
        shape="broadcast(grad.shape, self.shape, sizes(min), sizes(max))",
        function=False, method=False,
        doc="The gradient where the element lies between the bounds.",
    ),
    Composite(
        "clamp_backward_bound(Tensor grad, Tensor self, Tensor? min, Tensor? max, bool upper) -> Tensor",
        shape="broadcast(grad.shape, self.shape, sizes(min), sizes(max))",
        function=False, method=False,
        doc="The gradient where the element took the lower, or the upper, bound.",
    ),
    Unary(
        "trunc", foreach=True,
        dtypes="int float", loops="wide", hot=TWO,
        aliases=("fix",),
        reported="trunc_vml_cpu",
        grad={"self": "zeros_like(g)"},
        jvp=NO_SIGN,
        expr="trunc(x)", ref="numpy.trunc",
        doc="Each element without its fraction.",
        example=">>> tl.trunc(tl.tensor([-1.5, 1.5]))\ntensor([-1.,  1.])",
    ),
    Unary(
        "round", foreach=True,
        dtypes="int float", loops="wide", hot=TWO,
        second_names=("special_round",),
        reported="round_vml_cpu",
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
        "round.decimals(Tensor self, *, int decimals) -> Tensor", shape="self.shape",
        inplace=True, out=True, shown="input, *, decimals=0, out=None", devices="Any",
        names="keep", reported="round_vml_cpu",
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
        "frac", foreach=True,
        dtypes="float", loops="wide", hot=TWO,
        grad={"self": "g"},
        expr="x - trunc(x)",
        doc="The fraction of each element, with its sign.",
        example=">>> tl.frac(tl.tensor([-1.5, 1.25]))\ntensor([-0.5000,  0.2500])",
    ),
    Op(
        "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
        shape="self.shape",
        inplace=True, out=True, devices="Any",
        names="keep", reported="nan_to_num",
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
        reported="nan_to_num",
        grad=NO_SIGN,
        jvp=NO_SIGN,
        expr="x",
        doc="What nan_to_num runs.",
    ),
]  # fmt: skip
