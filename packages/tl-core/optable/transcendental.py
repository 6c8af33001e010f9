"""Transcendental functions beyond those of elementwise.py."""

from opgen.row import Binary, Composite, Op, Pointwise, Unary, real

INEXACT = "float complex"
ONE = "float32"


def _function(name: str, grad: str, doc: str, *, dtypes: str = INEXACT, **fields):
    fields.setdefault("expr", f"{name}(x)")
    return Unary(
        name,
        **fields,
        to="float",
        dtypes=dtypes,
        loops="wide",
        hot=ONE,
        grad={"self": grad},
        doc=doc,
    )


ROWS = [
    _function(
        "exp2", "g * (result * 0.6931471805599453).conj()", "2 to the power of each element.",
        ref="numpy.exp2",
        example=">>> tl.exp2(tl.tensor([0.0, 3.0]))\ntensor([1., 8.])",
    ),
    _function(
        "log2", "g / (self * 0.6931471805599453).conj()", "The logarithm to base 2 of each element.",
        ref="numpy.log2", samples=real(0.1, 5),
        example=">>> tl.log2(tl.tensor([1.0, 8.0]))\ntensor([0., 3.])",
    ),
    _function(
        "log10", "g / (self * 2.302585092994046).conj()", "The logarithm to base 10 of each element.",
        ref="numpy.log10", samples=real(0.1, 5),
        example=">>> tl.log10(tl.tensor([1.0, 1000.0]))\ntensor([0., 3.])",
    ),
    _function(
        "tan", "g * (1 + result * result).conj()", "The tangent of each element, in radians.",
        ref="numpy.tan", samples=real(-1.2, 1.2),
        example=">>> tl.tan(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 1.5574])",
    ),
    _function(
        "asin", "g * (1 - self * self).rsqrt().conj()", "The angle whose sine each element is.",
        aliases=("arcsin",),
        ref="numpy.arcsin", samples=real(-0.9, 0.9),
        example=">>> tl.asin(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 1.5708])",
    ),
    _function(
        "acos", "g * -((1 - self * self).rsqrt()).conj()", "The angle whose cosine each element is.",
        aliases=("arccos",),
        ref="numpy.arccos", samples=real(-0.9, 0.9),
        example=">>> tl.acos(tl.tensor([0.0, 1.0]))\ntensor([1.5708, 0.0000])",
    ),
    _function(
        "atan", "g / (self * self + 1).conj()", "The angle whose tangent each element is.",
        aliases=("arctan",),
        ref="numpy.arctan",
        example=">>> tl.atan(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.7854])",
    ),
    _function(
        "asinh", "g * (self * self + 1).rsqrt().conj()", "The inverse of sinh.",
        aliases=("arcsinh",),
        ref="numpy.arcsinh",
        example=">>> tl.asinh(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8814])",
    ),
    _function(
        "acosh", "g * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()", "The inverse of cosh.",
        aliases=("arccosh",),
        ref="numpy.arccosh", samples=real(1.1, 5),
        example=">>> tl.acosh(tl.tensor([1.0, 2.0]))\ntensor([0.0000, 1.3170])",
    ),
    _function(
        "atanh", "g / (1 - self * self).conj()", "The inverse of tanh.",
        aliases=("arctanh",),
        ref="numpy.arctanh", samples=real(-0.9, 0.9),
        example=">>> tl.atanh(tl.tensor([0.0, 0.5]))\ntensor([0.0000, 0.5493])",
    ),
    _function(
        "sinc", "sinc_backward(g, self)", "sin(pi x) / (pi x) of each element, 1 at 0.",
        ref="numpy.sinc",
        example=">>> tl.sinc(tl.tensor([0.0, 0.5]))\ntensor([1.0000, 0.6366])",
    ),
    Composite(
        "sinc_backward(Tensor grad, Tensor self) -> Tensor",
        function=False, method=False,
        doc="The gradient of sinc; 0 at 0.",
    ),
    _function(
        "lgamma", "g * digamma(self)", "The logarithm of the size of the gamma function.",
        dtypes="float",
        expr="x", ref="scipy.special.gammaln", samples=real(0.3, 5),
        example=">>> tl.lgamma(tl.tensor([4.0]))\ntensor([1.7918])",
    ),
    _function(
        "digamma", "g * polygamma(1, self)", "The derivative of lgamma.",
        dtypes="float",
        expr="x", ref="scipy.special.digamma", samples=real(0.3, 5),
        example=">>> tl.digamma(tl.tensor([1.0]))\ntensor([-0.5772])",
    ),
    _function(
        "erfc", "g * (self.square().neg().exp() * -1.1283791670955126)",
        "1 - erf(x) of each element, without loss where that is small.",
        dtypes="float",
        ref="scipy.special.erfc",
        example=">>> tl.erfc(tl.tensor([0.0, 1.0]))\ntensor([1.0000, 0.1573])",
    ),
    _function(
        "erfinv", "g * (result.square().exp() * 0.886226925452758)", "The inverse of erf.",
        dtypes="float",
        ref="scipy.special.erfinv", samples=real(-0.9, 0.9),
        example=">>> tl.erfinv(tl.tensor([0.0, 0.5]))\ntensor([0.0000, 0.4769])",
    ),
    Op(
        "logit(Tensor self, float? eps=None) -> Tensor",
        inplace=True, out=True, devices="Any",
        grad={"self": "logit_backward(g, self, eps)"},
        jvp="elementwise", batch="elementwise",
        doc="log(x / (1 - x)) of each element, moved to [eps, 1 - eps] first.",
        example=">>> tl.logit(tl.tensor([0.5, 0.9]))\ntensor([0.0000, 2.1972])",
    ),
    Composite(
        "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
        method=False, namespace="_nn",
        doc="The gradient of logit; outside the bounds 0, or NaN if there are none.",
    ),
    Pointwise(
        "_logit(Tensor self, Scalar low, Scalar high) -> Tensor", inputs=1, cpu="logit",
        to="float", dtypes="float", loops="wide", hot=ONE,
        function=False, method=False,
        grad="none:a part of logit",
        jvp="none:a part of logit",
        expr="log(min(max(x, low), high) / (1 - min(max(x, low), high)))", samples=real(0.1, 0.9),
        doc="What logit runs.",
    ),
    # ---- two inputs ----------------------------------------------------------------------------------------
    Binary(
        "logaddexp", overload="", other="Tensor",
        dtypes=INEXACT, loops="wide", hot=ONE,
        inplace=False,
        grad={"self": "g / (1 + exp(other - self)).conj()", "other": "g / (1 + exp(self - other)).conj()"},
        expr="max(x, y) + log1p(exp(min(x, y) - max(x, y)))",
        doc="log(exp(x) + exp(y)) without overflow.",
        example=">>> tl.logaddexp(tl.tensor([0.0]), tl.tensor([0.0]))\ntensor([0.6931])",
    ),
    Binary(
        "logaddexp2", overload="", other="Tensor",
        dtypes=INEXACT, loops="wide", hot=ONE,
        inplace=False,
        grad={"self": "g / (1 + exp2(other - self)).conj()", "other": "g / (1 + exp2(self - other)).conj()"},
        expr="max(x, y) + log1p(exp((min(x, y) - max(x, y)) * 0.6931471805599453)) / 0.6931471805599453",
        doc="log2(2^x + 2^y) without overflow.",
        example=">>> tl.logaddexp2(tl.tensor([0.0]), tl.tensor([0.0]))\ntensor([1.])",
    ),
    Binary(
        "atan2", overload="", other="Tensor",
        to="float", dtypes="float", loops="wide", hot=ONE,
        aliases=("arctan2",),
        grad={
            "self": "g * atan2_derivative(other, self, other)",
            "other": "-g * atan2_derivative(self, self, other)",
        },
        expr="atan2(x, y)", ref="numpy.arctan2",
        doc="The angle of the point (other, self), between -pi and pi.",
        example=">>> tl.atan2(tl.tensor([1.0]), tl.tensor([-1.0]))\ntensor([2.3562])",
    ),
    Binary(
        "hypot", overload="", other="Tensor",
        dtypes="float", loops="wide", hot=ONE,
        grad={"self": "g * (self / result)", "other": "g * (other / result)"},
        expr="hypot(x, y)", ref="numpy.hypot",
        doc="sqrt(x^2 + y^2) without overflow.",
        example=">>> tl.hypot(tl.tensor([3.0]), tl.tensor([4.0]))\ntensor([5.])",
    ),
    Binary(
        "xlogy",
        to="float", dtypes="float", loops="wide", hot=ONE,
        grad={"self": "where((self == 0) & (other <= 0), 0, g * log(other))", "other": "g * self / other"},
        expr="x * log(y)", ref="scipy.special.xlogy", samples=real(0.2, 4),
        doc="x log(y), and 0 where x is 0.",
        example=">>> tl.xlogy(tl.tensor([0.0, 2.0]), tl.tensor([0.0, 1.0]))\ntensor([0., 0.])",
    ),
    Binary(
        "special_xlog1py", overload="", cpu="xlog1py",
        to="float", dtypes="float", loops="wide", hot="",
        inplace=False, method=False, namespace="_special",
        grad={
            "self": "where((self == 0) & (other <= -1), 0, g * log1p(other))",
            "other": "g * self / (other + 1)",
        },
        expr="x * log1p(y)", ref="scipy.special.xlog1py", samples=real(0.2, 4),
        doc="x log(1 + y), and 0 where x is 0.",
    ),
    Pointwise(
        "xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", inputs=2, cpu="xlogy",
        to="float", dtypes="float", loops="wide", hot=ONE,
        inplace=False, method=False,
        grad={"other": "g * self / other"},
        expr="x * log(y)", ref="scipy.special.xlogy", samples=real(0.2, 4),
        doc="x log(y), and 0 where x is 0.",
    ),
    Pointwise(
        "special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", inputs=2, cpu="xlog1py",
        to="float", dtypes="float", loops="wide",
        inplace=False, out=False, method=False, namespace="_special",
        grad={"other": "g * self / (other + 1)"},
        expr="x * log1p(y)", ref="scipy.special.xlog1py", samples=real(0.2, 4),
        doc="x log(1 + y), and 0 where x is 0.",
    ),
]  # fmt: skip
