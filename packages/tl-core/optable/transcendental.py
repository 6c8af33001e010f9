"""Transcendental functions beyond those of elementwise.py."""

from opgen.row import Binary, Composite, Op, Pointwise, Unary, real

INEXACT = "float complex"
ONE = "float32"


def _function(name: str, grad: str, doc: str, *, dtypes: str = INEXACT, **fields):
    fields.setdefault("expr", f"{name}(x)")
    return Unary(name, to="float", dtypes=dtypes, loops="wide", hot=ONE, grad={"self": grad}, doc=doc, **fields)


ROWS = [
    _function("exp2", "g * (result * 0.6931471805599453).conj()", "2 to the power of each element.", ref="numpy.exp2"),
    _function("log2", "g / (self * 0.6931471805599453).conj()", "The logarithm to base 2 of each element.", ref="numpy.log2", samples=real(0.1, 5)),
    _function("log10", "g / (self * 2.302585092994046).conj()", "The logarithm to base 10 of each element.", ref="numpy.log10", samples=real(0.1, 5)),
    _function("tan", "g * (1 + result * result).conj()", "The tangent of each element, in radians.", ref="numpy.tan", samples=real(-1.2, 1.2)),
    _function("asin", "g * (1 - self * self).rsqrt().conj()", "The angle whose sine each element is.", ref="numpy.arcsin", samples=real(-0.9, 0.9), aliases=("arcsin",)),
    _function("acos", "g * -((1 - self * self).rsqrt()).conj()", "The angle whose cosine each element is.", ref="numpy.arccos", samples=real(-0.9, 0.9), aliases=("arccos",)),
    _function("atan", "g / (self * self + 1).conj()", "The angle whose tangent each element is.", ref="numpy.arctan", aliases=("arctan",)),
    _function("asinh", "g * (self * self + 1).rsqrt().conj()", "The inverse of sinh.", ref="numpy.arcsinh", aliases=("arcsinh",)),
    _function("acosh", "g * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()", "The inverse of cosh.", ref="numpy.arccosh", samples=real(1.1, 5), aliases=("arccosh",)),
    _function("atanh", "g / (1 - self * self).conj()", "The inverse of tanh.", ref="numpy.arctanh", samples=real(-0.9, 0.9), aliases=("arctanh",)),
    _function("sinc", "sinc_backward(g, self)", "sin(pi x) / (pi x) of each element, 1 at 0.", ref="numpy.sinc"),
    Composite("sinc_backward(Tensor grad, Tensor self) -> Tensor", function=False, method=False, doc="The gradient of sinc; 0 at 0."),
    _function("erfc", "g * (self.square().neg().exp() * -1.1283791670955126)", "1 - erf(x) of each element, without loss where that is small.",
              dtypes="float", ref="scipy.special.erfc"),
    _function("erfinv", "g * (result.square().exp() * 0.886226925452758)", "The inverse of erf.", dtypes="float", ref="scipy.special.erfinv", samples=real(-0.9, 0.9)),
    Op("logit(Tensor self, float? eps=None) -> Tensor", devices="Any", inplace=True, out=True, jvp="elementwise", batch="elementwise",
       grad={"self": "logit_backward(g, self, eps)"}, doc="log(x / (1 - x)) of each element, moved to [eps, 1 - eps] first."),
    Composite("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", method=False, namespace="_nn",
              doc="The gradient of logit; outside the bounds 0, or NaN if there are none."),
    Pointwise("_logit(Tensor self, Scalar low, Scalar high) -> Tensor", inputs=1, cpu="logit", to="float", dtypes="float", loops="wide", hot=ONE,
              expr="log(min(max(x, low), high) / (1 - min(max(x, low), high)))", grad="none:a part of logit", jvp="none:a part of logit",
              function=False, method=False, samples=real(0.1, 0.9), doc="What logit runs."),
    # ---- two inputs --------------------------------------------------------------------------------------------------
    Binary("logaddexp", overload="", other="Tensor", dtypes=INEXACT, loops="wide", hot=ONE, inplace=False, expr="max(x, y) + log1p(exp(min(x, y) - max(x, y)))",
           grad={"self": "g / (1 + exp(other - self)).conj()", "other": "g / (1 + exp(self - other)).conj()"},
           doc="log(exp(x) + exp(y)) without overflow."),
    Binary("logaddexp2", overload="", other="Tensor", dtypes=INEXACT, loops="wide", hot=ONE, inplace=False, expr="max(x, y) + log1p(exp((min(x, y) - max(x, y)) * 0.6931471805599453)) / 0.6931471805599453",
           grad={"self": "g / (1 + exp2(other - self)).conj()", "other": "g / (1 + exp2(self - other)).conj()"},
           doc="log2(2^x + 2^y) without overflow."),
    Binary("hypot", overload="", other="Tensor", dtypes="float", loops="wide", hot=ONE, expr="hypot(x, y)", ref="numpy.hypot",
           grad={"self": "g * (self / result)", "other": "g * (other / result)"}, doc="sqrt(x^2 + y^2) without overflow."),
    Binary("xlogy", to="float", dtypes="float", loops="wide", hot=ONE, expr="x * log(y)", ref="scipy.special.xlogy", samples=real(0.2, 4),
           grad={"self": "where((self == 0) & (other <= 0), 0, g * log(other))", "other": "g * self / other"},
           doc="x log(y), and 0 where x is 0."),
    Binary("special_xlog1py", overload="", cpu="xlog1py", to="float", dtypes="float", loops="wide", hot="", method=False, inplace=False, namespace="_special",
           expr="x * log1p(y)", ref="scipy.special.xlog1py", samples=real(0.2, 4),
           grad={"self": "where((self == 0) & (other <= -1), 0, g * log1p(other))", "other": "g * self / (other + 1)"},
           doc="x log(1 + y), and 0 where x is 0."),
    Pointwise("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", inputs=2, cpu="xlogy", to="float", dtypes="float", loops="wide", hot=ONE, method=False, inplace=False,
              expr="x * log(y)", ref="scipy.special.xlogy", samples=real(0.2, 4), grad={"other": "g * self / other"}, doc="x log(y), and 0 where x is 0."),
    Pointwise("special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", inputs=2, cpu="xlog1py", to="float", dtypes="float", loops="wide", method=False,
              inplace=False, out=False, namespace="_special", expr="x * log1p(y)", ref="scipy.special.xlog1py", samples=real(0.2, 4), grad={"other": "g * self / (other + 1)"},
              doc="x log(1 + y), and 0 where x is 0."),
]  # fmt: skip
