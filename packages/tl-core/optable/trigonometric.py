"""Pointwise Ops: circular and hyperbolic functions, their inverses, and angles."""

from opgen.row import Binary, Composite, Op, Pointwise, Transcendental, Unary, real

INEXACT = "float complex"
ONE = "float32"


ROWS = [
    Unary(
        "sin",
        to="float", dtypes=INEXACT,
        reported="sin_vml_cpu",
        grad={"self": "g * self.cos().conj()"},
        expr="sin(x)", ref="numpy.sin",
        doc="The sine of each element, in radians.",
        example=">>> tl.sin(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8415])",
    ),
    Unary(
        "cos",
        to="float", dtypes=INEXACT,
        reported="cos_vml_cpu",
        grad={"self": "g * -self.sin().conj()"},
        expr="cos(x)", ref="numpy.cos",
        doc="The cosine of each element, in radians.",
        example=">>> tl.cos(tl.tensor([0.0, 1.0]))\ntensor([1.0000, 0.5403])",
    ),
    Unary(
        "sinh",
        to="float", dtypes=INEXACT,
        grad={"self": "g * self.cosh().conj()"},
        expr="sinh(x)", ref="numpy.sinh",
        doc="Hyperbolic sine of each element.",
        example=">>> tl.sinh(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 1.1752])",
    ),
    Unary(
        "cosh",
        to="float", dtypes=INEXACT,
        grad={"self": "g * self.sinh().conj()"},
        expr="cosh(x)", ref="numpy.cosh",
        doc="Hyperbolic cosine of each element.",
        example=">>> tl.cosh(tl.tensor([0.0, 1.0]))\ntensor([1.0000, 1.5431])",
    ),
    Unary(
        "tanh",
        to="float", dtypes=INEXACT,
        reported="tanh_vml_cpu",
        grad={"self": "tanh_backward(g, result)"},
        expr="tanh(x)", ref="numpy.tanh",
        doc="Hyperbolic tangent of each element.",
        example=">>> tl.tanh(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.7616])",
    ),
    Composite(
        "atan2_derivative(Tensor part, Tensor self, Tensor other) -> Tensor",
        shape="broadcast(part.shape, self.shape, other.shape)",
        function=False, method=False,
        doc="A part of the point over its squared distance; zero at the origin.",
    ),
    Pointwise(
        "tanh_backward(Tensor grad_output, Tensor output) -> Tensor", inputs=2, cpu="tanh_backward",
        dtypes=INEXACT,
        inplace=False, method=False, namespace="_nn",
        grad={
            "grad_output": "tanh_backward(g, output.conj())",
            "output": "g.conj() * (-2 * output.conj() * grad_output)",
        },
        expr="x * conj(1 - y * y)",
        doc="The gradient of tanh from its result.",
    ),
    Transcendental(
        "tan", "g * (1 + result * result).conj()", "The tangent of each element, in radians.",
        reported="tan_vml_cpu",
        ref="numpy.tan", samples=real(-1.2, 1.2),
        example=">>> tl.tan(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 1.5574])",
    ),
    Transcendental(
        "asin", "g * (1 - self * self).rsqrt().conj()", "The angle whose sine each element is.",
        aliases=("arcsin",),
        reported="asin_vml_cpu",
        ref="numpy.arcsin", samples=real(-0.9, 0.9),
        example=">>> tl.asin(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 1.5708])",
    ),
    Transcendental(
        "acos", "g * -((1 - self * self).rsqrt()).conj()", "The angle whose cosine each element is.",
        aliases=("arccos",),
        reported="acos_vml_cpu",
        ref="numpy.arccos", samples=real(-0.9, 0.9),
        example=">>> tl.acos(tl.tensor([0.0, 1.0]))\ntensor([1.5708, 0.0000])",
    ),
    Transcendental(
        "atan", "g / (self * self + 1).conj()", "The angle whose tangent each element is.",
        aliases=("arctan",),
        reported="atan_vml_cpu",
        ref="numpy.arctan",
        example=">>> tl.atan(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.7854])",
    ),
    Transcendental(
        "asinh", "g * (self * self + 1).rsqrt().conj()", "The inverse of sinh.",
        aliases=("arcsinh",),
        ref="numpy.arcsinh",
        example=">>> tl.asinh(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8814])",
    ),
    Transcendental(
        "acosh", "g * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()", "The inverse of cosh.",
        aliases=("arccosh",),
        ref="numpy.arccosh", samples=real(1.1, 5),
        example=">>> tl.acosh(tl.tensor([1.0, 2.0]))\ntensor([0.0000, 1.3170])",
    ),
    Transcendental(
        "atanh", "g / (1 - self * self).conj()", "The inverse of tanh.",
        aliases=("arctanh",),
        ref="numpy.arctanh", samples=real(-0.9, 0.9),
        example=">>> tl.atanh(tl.tensor([0.0, 0.5]))\ntensor([0.0000, 0.5493])",
    ),
    Transcendental(
        "sinc", "sinc_backward(g, self)", "sin(pi x) / (pi x) of each element, 1 at 0.",
        second_names=("special_sinc",),
        ref="numpy.sinc",
        example=">>> tl.sinc(tl.tensor([0.0, 0.5]))\ntensor([1.0000, 0.6366])",
    ),
    Composite(
        "sinc_backward(Tensor grad, Tensor self) -> Tensor", shape="broadcast(grad.shape, self.shape)",
        function=False, method=False,
        doc="The gradient of sinc; 0 at 0.",
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
    Op(
        "deg2rad(Tensor self) -> Tensor", shape="self.shape",
        inplace=True, out=True, devices="Any",
        names="keep", reported="mul_cpu_reduced_float",
        grad={"self": "g.deg2rad()"},
        jvp="linear", batch="elementwise",
        doc="Degrees as radians.",
        example=">>> tl.deg2rad(tl.tensor([180.0]))\ntensor([3.1416])",
    ),
    Op(
        "rad2deg(Tensor self) -> Tensor", shape="self.shape",
        inplace=True, out=True, devices="Any",
        names="keep", reported="mul_cpu_reduced_float",
        grad={"self": "g.rad2deg()"},
        jvp="linear", batch="elementwise",
        doc="Radians as degrees.",
        example=">>> tl.rad2deg(tl.tensor([3.14159265]))\ntensor([180.])",
    ),
]  # fmt: skip
