"""Activation functions and their derivatives."""

from opgen.row import Composite, Op, Pointwise, Unary, real

TWO = "float32 float64"
TANH = "tanh(0.7978845608028654 * (y + 0.044715 * y ** 3))"
PART = "none:a part of another derivative"


def _unit(signature: str, cpu: str, *, grad: str, doc: str, dtypes: str = "float", **fields):
    """A function of one tensor."""
    fields.setdefault("namespace", "_nn")
    fields.setdefault("method", False)
    return Pointwise(
        f"{signature} -> Tensor",
        inputs=1,
        cpu=cpu,
        **fields,
        dtypes=dtypes,
        loops="wide",
        hot=TWO,
        grad={"self": grad},
        doc=doc,
    )


def _backward(
    signature: str,
    cpu: str,
    *,
    grad_output: str,
    self: str = "zeros_like(g)",
    dtypes: str = "float",
    **fields,
):
    """A derivative: of the gradient and the input."""
    name = signature.partition("(")[0].removesuffix("_backward")
    return Pointwise(
        f"{signature} -> Tensor",
        inputs=2,
        cpu=cpu,
        **fields,
        dtypes=dtypes,
        loops="wide",
        hot=TWO,
        inplace=False,
        method=False,
        namespace="_nn",
        grad={"grad_output": grad_output, "self": self},
        doc=f"The gradient of {name}.",
    )


ROWS = [
    Unary(
        "relu",
        dtypes="int float",
        out=False,
        core=True,
        grad={"self": "threshold_backward(g, result, 0)"},
        expr="max(x, 0)",
        doc="Each element, or zero if that is larger.",
        example=">>> tl.relu(tl.tensor([-1.0, 2.0]))\ntensor([0., 2.])",
    ),
    Pointwise(
        "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", inputs=2,
        cpu="threshold_backward",
        dtypes="int float",
        inplace=False, out_name="threshold_backward.grad_input(grad_input)", method=False, namespace="_nn",
        grad={"grad_output": "threshold_backward(g, self, threshold)", "self": "zeros_like(g)"},
        expr="y > threshold ? x : 0",
        doc="The gradient where the result was above the threshold, else zero.",
        about={"grad_output": "the gradient with respect to the result"},
    ),
    # ---- piecewise linear ----------------------------------------------------------------------------------
    _unit(
        "threshold(Tensor self, Scalar threshold, Scalar value)", "threshold", typed=("value",),
        dtypes="int float",
        namespace="",
        grad="threshold_backward(g, self, threshold)",
        expr="x <= threshold ? value : x",
        doc="Each element above the threshold, the value where it is not.",
        about={"value": "what elements that don't exceed the threshold become"},
        example=">>> tl.threshold(tl.tensor([-1.0, 0.5, 2.0]), 1, 0)\ntensor([0., 0., 2.])",
    ),
    _unit(
        "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)", "hardtanh",
        typed=("min_val", "max_val"),
        check="bounds",
        dtypes="int float",
        reported="clamp_scalar_cpu",
        core=True,
        grad="hardtanh_backward(g, self, min_val, max_val)",
        expr="min(max(x, min_val), max_val)",
        doc="Each element, moved to the nearer of two bounds if it lies outside.",
    ),
    _backward(
        "hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val)",
        "hardtanh_backward", grad_output="hardtanh_backward(g, self, min_val, max_val)",
        out_name="hardtanh_backward.grad_input(grad_input)",
        expr="(min_val < y) & (y < max_val) ? x : 0",
    ),
    _unit(
        "leaky_relu(Tensor self, Scalar negative_slope=0.01)", "leaky_relu",
        core=True,
        grad="_leaky_relu_backward(g, self, negative_slope)",
        expr="x > 0 ? x : x * negative_slope",
        doc="Each element, scaled where it is negative.",
    ),
    _backward(
        "_leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope)", "leaky_relu_backward",
        grad_output="_leaky_relu_backward(g, self, negative_slope)",
        expr="y > 0 ? x : x * negative_slope",
    ),
    Composite(
        (
            "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool "
            "self_is_result) -> Tensor"
        ),
        shape="broadcast(grad_output.shape, self.shape)",
        method=False, namespace="_nn",
        doc="The gradient of leaky_relu.",
        about={"self": "the function's input, or its result"},
    ),
    _unit(
        "hardsigmoid(Tensor self)", "hardsigmoid",
        grad="hardsigmoid_backward(g, self)",
        expr="min(max(x + 3, 0), 6) / 6",
        doc="min(max(x + 3, 0), 6) / 6, a piecewise linear sigmoid.",
    ),
    _backward(
        "hardsigmoid_backward(Tensor grad_output, Tensor self)", "hardsigmoid_backward",
        grad_output="hardsigmoid_backward(g, self)",
        out_name="hardsigmoid_backward.grad_input(grad_input)",
        expr="(-3 < y) & (y < 3) ? x / 6 : 0",
    ),
    _unit(
        "hardswish(Tensor self)", "hardswish",
        grad="hardswish_backward(g, self)",
        expr="x * min(max(x + 3, 0), 6) / 6",
        doc="x min(max(x + 3, 0), 6) / 6.",
    ),
    _backward(
        "hardswish_backward(Tensor grad_output, Tensor self)", "hardswish_backward",
        grad_output="hardswish_backward(g, self)",
        self="where((self > -3) & (self < 3), g * grad_output / 3, 0)",
        expr="abs(y) < 3 ? x * (y / 3 + 0.5) : x * (y > 0)",
    ),
    _unit(
        "hardshrink(Tensor self, Scalar lambd=0.5)", "hardshrink", typed=("lambd",),
        method=True, namespace="", shown="input, lambd=0.5",
        grad="hardshrink_backward(g, self, lambd)",
        expr="abs(x) <= lambd ? 0 : x",
        doc="Each element whose size exceeds lambd, else 0.",
        example=">>> tl.hardshrink(tl.tensor([-1.0, 0.2, 0.7]))\ntensor([-1.0000,  0.0000,  0.7000])",
    ),
    Op(
        "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", shape="self.shape",
        inplace=False, out=True, method=False, namespace="_nn", shown="input, lambd=0.5", devices="Any",
        names="keep",
        grad={"self": "softshrink_backward(g, self, lambd)"},
        jvp="elementwise", batch="elementwise",
        doc="Each element moved towards 0 by lambd; 0 where it would pass it.",
        example=(
            ">>> tl.nn_functions.softshrink(tl.tensor([-2.0, 0.25, 1.5]), 0.5)\ntensor([-1.5000,  0.0000,  "
            "1.0000])"
        ),
    ),
    Pointwise(
        "_softshrink(Tensor self, Scalar lambd) -> Tensor", inputs=1, cpu="softshrink",
        dtypes="float", loops="wide", hot=TWO,
        function=False, method=False,
        grad="none:a part of softshrink",
        jvp="none:a part of softshrink",
        expr="sign(x) * max(abs(x) - lambd, 0)",
        doc="What softshrink runs.",
    ),
    *(
        _backward(
            f"{name}(Tensor grad_output, Tensor self, Scalar lambd)", "shrink_backward",
            grad_output=f"{name}(g, self, lambd)",
            out_name=f"{name}.grad_input(grad_input)",
            expr="abs(y) <= lambd ? 0 : x",
        )
        for name in ("hardshrink_backward", "softshrink_backward")
    ),
    Composite(
        "prelu(Tensor self, Tensor weight) -> Tensor", shape="self.shape",
        autocast="lower",
        doc="Each element, scaled where it is negative by the weight of its channel.",
        example=">>> tl.prelu(tl.tensor([-2.0, 3.0]), tl.tensor([0.25]))\ntensor([-0.5000,  3.0000])",
    ),
    Pointwise(
        "_prelu_kernel(Tensor self, Tensor weight) -> Tensor", inputs=2, cpu="prelu",
        dtypes="float", loops="wide", hot=TWO,
        inplace=False, out=False, function=False, method=False,
        grad={"self": "where(self > 0, g, g * weight)", "weight": "where(self > 0, 0, g * self)"},
        expr="x > 0 ? x : x * y",
        doc="What prelu runs on a weight that broadcasts.",
    ),
    Composite(
        (
            "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
            "Generator? generator=None) -> Tensor"
        ),
        shape="self.shape",
        inplace=True, method=False, random=True,
        doc=(
            "Each element, scaled where it isn't positive: by a slope drawn from [lower, upper), or their "
            "mean unless training."
        ),
        example=">>> tl.rrelu(tl.tensor([-1.0, 2.0]), 0.5, 0.5)\ntensor([-0.5000,  2.0000])",
    ),
    # ---- exponential units ---------------------------------------------------------------------------------
    _unit(
        "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)", "elu",
        grad="elu_backward(g, alpha, scale, input_scale, False, self)",
        expr="x > 0 ? x * scale : expm1(min(x, 0) * input_scale) * alpha * scale",
        doc="Each element; below zero alpha (exp(x) - 1).",
        about={"alpha": "the limit of the negative branch"},
    ),
    Op(
        "celu(Tensor self, Scalar alpha=1.0) -> Tensor", shape="self.shape",
        inplace=True, method=False, devices="Any",
        names="keep",
        grad={"self": "elu_backward(g, alpha, 1, 1 / alpha, False, self)"},
        jvp="elementwise", batch="elementwise",
        doc="Each element; below zero alpha (exp(x / alpha) - 1).",
        about={"alpha": "how steep the negative branch is"},
        example=">>> tl.celu(tl.tensor([-1.0, 2.0]))\ntensor([-0.6321,  2.0000])",
    ),
    Op(
        "selu(Tensor self) -> Tensor", shape="self.shape",
        inplace=True, method=False, devices="Any",
        names="keep",
        grad={"self": "elu_backward(g, 1.6732632423543772, 1.0507009873554805, 1, False, self)"},
        jvp="elementwise", batch="elementwise",
        doc="elu, scaled so that mean 0 and variance 1 stay.",
        example=">>> tl.selu(tl.tensor([-1.0, 2.0]))\ntensor([-1.1113,  2.1014])",
    ),
    Op(
        (
            "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool "
            "is_result, Tensor self_or_result) -> Tensor"
        ),
        shape="grad_output.shape",
        method=False, namespace="_nn", devices="Any",
        grad={
            "grad_output": "elu_backward(g, alpha, scale, input_scale, is_result, self_or_result)",
            "self_or_result": (
                "elu_double_backward(g * grad_output, alpha, scale, input_scale, is_result, self_or_result)"
            ),
        },
        jvp="double-vjp", batch="elementwise",
        doc="The gradient of elu.",
        about={"alpha": "the limit of the negative branch"},
    ),
    Composite(
        (
            "elu_double_backward(Tensor grad, Scalar alpha, Scalar scale, Scalar input_scale, bool "
            "is_result, Tensor self_or_result) -> Tensor"
        ),
        shape="broadcast(grad.shape, self_or_result.shape)",
        function=False, method=False,
        doc="The second derivative of elu.",
    ),
    Pointwise(
        (
            "_elu_backward(Tensor grad_output, Tensor self_or_result, Scalar alpha, Scalar scale, Scalar "
            "input_scale, Scalar is_result) -> Tensor"
        ),
        inputs=2, cpu="elu_backward",
        dtypes="float", loops="wide", hot=TWO,
        inplace=False, function=False, method=False,
        grad=PART,
        jvp=PART,
        expr="y <= 0 ? x * input_scale * (y + alpha * scale) : x * scale",
        doc="What elu_backward runs.",
    ),
    # ---- gates ---------------------------------------------------------------------------------------------
    _unit(
        "silu(Tensor self)", "silu",
        dtypes="float complex",
        grad="silu_backward(g, self)",
        expr="x / (1 + exp(-x))",
        doc="x sigmoid(x), also called swish.",
    ),
    _backward(
        "silu_backward(Tensor grad_output, Tensor self)", "silu_backward",
        grad_output="silu_backward(g, self.conj())",
        self="silu_double_backward(g.conj() * grad_output, self)",
        dtypes="float complex",
        out_name="silu_backward.grad_input(grad_input)",
        expr="x * conj(1 / (1 + exp(-y)) * (1 + y * (1 - 1 / (1 + exp(-y)))))", samples=real(-3, 3),
    ),
    Composite(
        "silu_double_backward(Tensor grad, Tensor self) -> Tensor", shape="broadcast(grad.shape, self.shape)",
        function=False, method=False,
        doc="The second derivative of silu.",
    ),
    _unit(
        "mish(Tensor self)", "mish",
        grad="mish_backward(g, self)",
        expr="x * tanh(log1p(exp(x)))",
        doc="x tanh(softplus(x)).",
    ),
    _backward(
        "mish_backward(Tensor grad_output, Tensor self)", "mish_backward",
        grad_output="mish_backward(g, self)", self="mish_double_backward(g * grad_output, self)",
        expr="x * (tanh(log1p(exp(y))) + y / (1 + exp(-y)) * (1 - tanh(log1p(exp(y))) ** 2))",
    ),
    Composite(
        "mish_double_backward(Tensor grad, Tensor self) -> Tensor", shape="broadcast(grad.shape, self.shape)",
        function=False, method=False,
        doc="The second derivative of mish.",
    ),
    Op(
        "gelu(Tensor self, *, str approximate='none') -> Tensor", shape="self.shape",
        inplace=True, out=True, method=False, namespace="_nn", shown="input, approximate='none'",
        devices="Any",
        names="keep",
        core=True,
        grad={"self": "gelu_backward(g, self, approximate=approximate)"},
        jvp="elementwise", batch="elementwise",
        doc="x times the probability that a normal number is smaller than x.",
        example=">>> tl.nn_functions.gelu(tl.tensor([-1.0, 0.0, 1.0]))\ntensor([-0.1587,  0.0000,  0.8413])",
    ),
    Op(
        "gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor",
        shape="broadcast(grad_output.shape, self.shape)",
        method=False, namespace="_nn", devices="Any",
        grad={
            "grad_output": "gelu_backward(g, self, approximate=approximate)",
            "self": "gelu_double_backward(g * grad_output, self, approximate)",
        },
        jvp="double-vjp", batch="elementwise",
        doc="The gradient of gelu.",
    ),
    Composite(
        "gelu_double_backward(Tensor grad, Tensor self, str approximate) -> Tensor",
        shape="broadcast(grad.shape, self.shape)",
        function=False, method=False,
        doc="The second derivative of gelu.",
    ),
    *(
        Pointwise(
            f"_{name}(Tensor self) -> Tensor", inputs=1, cpu=name,
            dtypes="float", loops="wide", hot=TWO, also="bfloat16",
            function=False, method=False,
            reported="GeluKernelImpl",
            grad=PART,
            jvp=PART,
            expr=expr,
            doc="What gelu runs.",
        )
        for name, expr in (
            ("gelu", "x * 0.5 * (1 + erf(x * 0.7071067811865476))"),
            ("gelu_tanh", "x * 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)))"),
        )
    ),
    *(
        Pointwise(
            f"_{name}(Tensor grad_output, Tensor self) -> Tensor", inputs=2, cpu=name,
            dtypes="float", loops="wide", hot=TWO,
            inplace=False, function=False, method=False,
            grad=PART,
            jvp=PART,
            expr=expr,
            doc="What gelu_backward runs.",
        )
        for name, expr in (
            (
                "gelu_backward",
                "x * (0.5 * (1 + erf(y * 0.7071067811865476)) + y * exp(y * y * -0.5) * 0.3989422804014327)",
            ),
            (
                "gelu_tanh_backward",
                (
                    f"x * 0.5 * (1 + {TANH} + y * (1 - {TANH} ** 2) * 0.7978845608028654 * (1 + 0.134145 * y "
                    f"* y))"
                ),
            ),
        )
    ),
    Composite(
        "glu(Tensor self, int dim=-1) -> Tensor",
        shape="resize(self.shape, dim, quotient(self.shape[dim], 2))",
        out=True, method=False, namespace="_nn",
        doc="The first half along a dimension times the sigmoid of the second.",
    ),
    Pointwise(
        "_glu_halves(Tensor self, Tensor gate) -> Tensor", inputs=2, cpu="gated",
        dtypes="float complex", loops="wide", hot=TWO,
        inplace=False, function=False, method=False,
        grad={
            "self": "g * gate.sigmoid().conj()",
            "gate": "sigmoid_backward(g * self.conj(), gate.sigmoid())",
        },
        expr="x / (1 + exp(-y))",
        doc="What glu runs on the halves.",
    ),
    # ---- in terms of log(1 + exp(x)) -----------------------------------------------------------------------
    _unit(
        "softplus(Tensor self, Scalar beta=1, Scalar threshold=20)", "softplus",
        inplace=False, shown="input, beta=1, threshold=20",
        grad="softplus_backward(g, self, beta, threshold)",
        expr="x * beta > threshold ? x : log1p(exp(x * beta)) / beta",
        doc="log(1 + exp(beta x)) / beta; x where beta x exceeds the threshold.",
        about={
            "threshold": "where beta times the input exceeds it, the function is the identity",
            "beta": "how sharp the bend is",
        },
        example=(
            ">>> tl.nn_functions.softplus(tl.tensor([-2.0, 0.0, 30.0]))\ntensor([ 0.1269,  0.6931, 30.0000])"
        ),
    ),
    _backward(
        "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold)",
        "softplus_backward", grad_output="softplus_backward(g, self, beta, threshold)",
        self=(
            "where(self * beta > threshold, 0, sigmoid_backward(g * grad_output * beta, (self * "
            "beta).sigmoid()))"
        ),
        out_name="softplus_backward.grad_input(grad_input)",
        expr="y * beta > threshold ? x : x / (1 + exp(-y * beta))",
        about={
            "threshold": "where beta times the input exceeds it, the function is the identity",
            "beta": "how sharp the corner at 0 is",
        },
    ),
    _unit(
        "log_sigmoid(Tensor self)", "log_sigmoid",
        inplace=False, shown="input",
        grad="log_sigmoid_backward(g, self)",
        expr="-log1p(exp(-x))",
        doc="log(1 / (1 + exp(-x))).",
        example=(
            ">>> tl.nn_functions.log_sigmoid(tl.tensor([-2.0, 0.0, 2.0]))\ntensor([-2.1269, -0.6931, "
            "-0.1269])"
        ),
    ),
    _backward(
        "log_sigmoid_backward(Tensor grad_output, Tensor self)", "log_sigmoid_backward",
        grad_output="log_sigmoid_backward(g, self)",
        self="-sigmoid_backward(g * grad_output, self.sigmoid())",
        out_name="log_sigmoid_backward.grad_input(grad_input)",
        expr="x / (1 + exp(y))",
    ),
    # ---- losses of each element ----------------------------------------------------------------------------
    *(
        Pointwise(
            f"{name}(Tensor self, Tensor target{number}) -> Tensor", inputs=2, cpu=name,
            dtypes="float", loops="wide", hot=TWO,
            inplace=False, out=False, method=False, namespace="_nn",
            grad={"self": f"g * {derivative}", "target": f"g * -{derivative}"},
            expr=expr,
            doc=f"{doc} `d` of `self` and `target`.",
        )
        for name, number, derivative, expr, doc in (
            (
                "squared_error",
                "",
                "((self - target) * 2)",
                "(x - y) * (x - y)",
                "The square of the difference",
            ),
            (
                "huber_error",
                ", Scalar delta",
                "(self - target).clamp(-delta, delta)",
                "abs(x - y) <= delta ? (x - y) * (x - y) * 0.5 : (abs(x - y) - delta * 0.5) * delta",
                "`d^2 / 2` up to `delta`, then `delta (d - delta / 2)`, of the absolute difference",
            ),
            (
                "smooth_l1_error",
                ", Scalar beta",
                "((self - target) / beta).clamp(-1, 1)",
                "abs(x - y) < beta ? (x - y) * (x - y) * (0.5 / beta) : abs(x - y) - beta * 0.5",
                "`d^2 / (2 beta)` below `beta`, then `d - beta / 2`, of the absolute difference",
            ),
        )
    ),
]  # fmt: skip
