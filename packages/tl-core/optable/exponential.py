"""Pointwise Ops: exponentials, logarithms, powers and roots."""

from opgen.row import Binary, Composite, Op, Pointwise, Transcendental, Unary, real

INEXACT = "float complex"
ONE = "float32"


ROWS = [
    Unary(
        "exp",
        to="float", dtypes=INEXACT,
        grad={"self": "g * result.conj()"},
        expr="exp(x)", ref="numpy.exp",
        doc="e to the power of each element.",
        example=">>> tl.exp(tl.tensor([0.0, 1.0]))\ntensor([1.0000, 2.7183])",
    ),
    Unary(
        "log",
        to="float", dtypes=INEXACT,
        grad={"self": "g / self.conj()"},
        expr="log(x)", ref="numpy.log", samples=real(0.1, 5),
        doc="The natural logarithm of each element.",
        example=">>> tl.log(tl.tensor([1.0, 10.0]))\ntensor([0.0000, 2.3026])",
    ),
    Unary(
        "expm1",
        to="float", dtypes=INEXACT,
        grad={"self": "g * (result.conj() + 1)"},
        expr="expm1(x)", ref="numpy.expm1",
        doc="exp(x) - 1 without loss near zero.",
        example=">>> tl.expm1(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 1.7183])",
    ),
    Unary(
        "log1p",
        to="float", dtypes=INEXACT,
        grad={"self": "g / (self + 1).conj()"},
        expr="log1p(x)", ref="numpy.log1p", samples=real(-0.9, 5),
        doc="log(1 + x) without loss near zero.",
        example=">>> tl.log1p(tl.tensor([0.0, 1.0]))\ntensor([0.0000, 0.6931])",
    ),
    Unary(
        "sqrt",
        to="float", dtypes=INEXACT,
        grad={"self": "g / (2 * result.conj())"},
        expr="sqrt(x)", ref="numpy.sqrt", samples=real(0.1, 5),
        doc="The square root of each element.",
        example=">>> tl.sqrt(tl.tensor([4.0, 2.0]))\ntensor([2.0000, 1.4142])",
    ),
    Unary(
        "rsqrt",
        to="float", dtypes=INEXACT,
        grad={"self": "-0.5 * g * result.pow(3).conj()"},
        expr="1 / sqrt(x)", samples=real(0.1, 5),
        doc="One over the square root of each element.",
        example=">>> tl.rsqrt(tl.tensor([4.0, 2.0]))\ntensor([0.5000, 0.7071])",
    ),
    Unary(
        "sigmoid",
        to="float", dtypes=INEXACT,
        grad={"self": "sigmoid_backward(g, result)"},
        expr="1 / (1 + exp(-x))", ref="scipy.special.expit",
        doc="1 / (1 + exp(-x)) of each element.",
        example=">>> tl.sigmoid(tl.tensor([0.0, 1.0]))\ntensor([0.5000, 0.7311])",
    ),
    Unary(
        "square",
        to="int", dtypes="int float complex",
        grad={"self": "g * (2 * self).conj()"},
        expr="x * x", ref="numpy.square",
        doc="Each element times itself.",
        example=">>> tl.square(tl.tensor([2, -3]))\ntensor([4, 9])",
    ),
    Pointwise(
        "pow.Tensor_Tensor(Tensor self, Operand exponent) -> Tensor", inputs=2, cpu="pow", kernel="power",
        dtypes="int float complex",
        out_name="pow.out",
        grad={
            "self": "pow_backward(g, self, exponent)",
            "exponent": "pow_backward_exponent(g, self, exponent, result)",
        },
        expr="pow(x, y)", ref="numpy.power", samples=real(0.2, 3),
        doc="Each element to a power.",
        example=">>> tl.pow(tl.tensor([2, 3]), 3)\ntensor([ 8, 27])",
    ),
    Pointwise(
        "pow.Scalar(Scalar self, Tensor exponent) -> Tensor", inputs=2, cpu="pow",
        dtypes="int float complex",
        inplace=False, method=False,
        grad={"exponent": "pow_backward_exponent(g, self, exponent, result)"},
        expr="pow(x, y)", samples=real(0.2, 3),
        doc="A number to the power of each element.",
    ),
    Pointwise(
        "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", inputs=2, cpu="sigmoid_backward",
        dtypes=INEXACT,
        inplace=False, method=False, namespace="_nn",
        grad={
            "grad_output": "sigmoid_backward(g, output.conj())",
            "output": "g.conj() * grad_output * (-2 * output.conj() + 1)",
        },
        expr="x * conj((1 - y) * y)",
        doc="The gradient of sigmoid from its result.",
    ),
    Transcendental(
        "exp2", "g * (result * 0.6931471805599453).conj()", "2 to the power of each element.",
        ref="numpy.exp2",
        example=">>> tl.exp2(tl.tensor([0.0, 3.0]))\ntensor([1., 8.])",
    ),
    Transcendental(
        "log2", "g / (self * 0.6931471805599453).conj()", "The logarithm to base 2 of each element.",
        ref="numpy.log2", samples=real(0.1, 5),
        example=">>> tl.log2(tl.tensor([1.0, 8.0]))\ntensor([0., 3.])",
    ),
    Transcendental(
        "log10", "g / (self * 2.302585092994046).conj()", "The logarithm to base 10 of each element.",
        ref="numpy.log10", samples=real(0.1, 5),
        example=">>> tl.log10(tl.tensor([1.0, 1000.0]))\ntensor([0., 3.])",
    ),
    Op(
        "logit(Tensor self, float? eps=None) -> Tensor", shape="self.shape",
        inplace=True, out=True, devices="Any",
        grad={"self": "logit_backward(g, self, eps)"},
        jvp="elementwise", batch="elementwise",
        doc="log(x / (1 - x)) of each element, moved to [eps, 1 - eps] first.",
        example=">>> tl.logit(tl.tensor([0.5, 0.9]))\ntensor([0.0000, 2.1972])",
    ),
    Composite(
        "logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor",
        shape="grad_output.shape",
        method=False, namespace="_nn",
        doc="The gradient of logit; outside the bounds 0, or NaN if there are none.",
    ),
    Pointwise(
        "_logit(Tensor self, Scalar low, Scalar high) -> Tensor", inputs=1, cpu="logit",
        typed=("low", "high"),
        to="float", dtypes="float", loops="wide", hot="float32 float64",
        function=False, method=False,
        grad="none:a part of logit",
        jvp="none:a part of logit",
        expr="log(min(max(x, low), high) / (1 - min(max(x, low), high)))", samples=real(0.1, 0.9),
        doc="What logit runs.",
    ),
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
        example=(
            ">>> tl.special.xlog1py(tl.tensor([0.0, 2.0]), tl.tensor([-1.0, 1.0]))\ntensor([0.0000, 1.3863])"
        ),
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
    *(
        Op(
            f"float_power.{overload}({first} self, {second} exponent) -> Tensor",
            kernel=f"float_power_{overload}", shape="broadcast(sizes(self), sizes(exponent))",
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
]  # fmt: skip
