"""Pooling. The rows of one name serve grids of one to three dimensions; the public ones are made of them."""

from opgen.row import Composite, Op


def _private(signature, grad, doc, **fields):
    """A row under the public names: lists are as long as the grid has dimensions."""
    return Op(
        signature,
        function=False,
        method=False,
        grad=grad,
        doc=doc,
        **{"jvp": "double-vjp", "batch": "fold", **fields},
    )


def _public(signature, doc, namespace="_nn", **fields):
    return Composite(signature, method=False, namespace=namespace, doc=doc, **fields)


def _policy(n):
    """Over volumes the sums are long: they run in float32."""
    return "float32" if n == 3 else ""


def _window(n, dilation=True):
    text = f"int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=[0]"
    return text + (f", int[{n}] dilation=[1]" if dilation else "") + ", bool ceil_mode=False"


def _backward_window(n, dilation=True):
    text = f"int[{n}] kernel_size, int[{n}] stride, int[{n}] padding"
    return text + (f", int[{n}] dilation" if dilation else "") + ", bool ceil_mode"


PUT = "_put_by_index(g_values, indices, self.shape, len({size}))"
AVG = "kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override"
AVG_TAIL = "bool count_include_pad=True, int? divisor_override=None"

ROWS = [
    _private(
        (
            "_max_pool(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool "
            "ceil_mode) -> (Tensor values, Tensor indices)"
        ),
        {"self": PUT.format(size="kernel_size")},
        "The largest element of each window, and where it stood in its plane.",
        shape="[pool(self.shape, kernel_size, stride, padding, dilation, ceil_mode, len(kernel_size))] * 2",
        names="keep", reported="max_pool2d",
        dimensions={n: f"max_pool{n}d_with_indices" for n in (1, 2, 3)},
    ),
    _private(
        "_adaptive_max_pool(Tensor self, int[] output_size) -> (Tensor values, Tensor indices)",
        {"self": PUT.format(size="output_size")},
        "The largest element of each of as many windows as the result has elements.",
        shape="[adaptive(self.shape, output_size, len(output_size))] * 2",
        reported="adaptive_max_pool2d",
        dimensions={n: f"adaptive_max_pool{n}d" for n in (1, 2, 3)},
    ),
    _private(
        (
            "_fractional_max_pool(Tensor self, int[] kernel_size, int[] output_size, Tensor random_samples) "
            "-> (Tensor values, Tensor indices)"
        ),
        {"self": PUT.format(size="kernel_size")}, "The largest element of windows at random places.",
        shape="[adaptive(self.shape, output_size, len(output_size))] * 2",
        reported="check_uniform_bounds",
        dimensions={n: f"fractional_max_pool{n}d" for n in (2, 3)},
        batch="loop",
    ),
    _private(
        "_put_by_index(Tensor source, Tensor indices, int[] sizes, int spatial) -> Tensor",
        {"source": "_take_by_index(g, indices, spatial)"}, "Elements added at their positions in a plane.",
        shape="list(sizes)",
    ),
    _private(
        "_unpool(Tensor source, Tensor indices, int[] output_size) -> Tensor",
        {"source": "_take_by_index(g, indices, len(output_size))"},
        "Elements written at their positions in a plane.",
        shape="[*source.shape[: source.ndim - len(output_size)], *output_size]",
        jvp="rule",
    ),
    _public(
        "_take_by_index(Tensor self, Tensor indices, int spatial) -> Tensor",
        "Elements at positions in their plane.", shape="indices.shape",
        function=False,
    ),
    _private(
        (
            "_avg_pool(Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool "
            "count_include_pad, int? divisor_override) -> Tensor"
        ),
        {"self": f"_avg_pool_adjoint(g, self.shape, {AVG})"}, "The mean of each window.",
        shape="pool(self.shape, kernel_size, stride, padding, 1, ceil_mode, len(kernel_size))",
        reported="avg_pool2d",
        dimensions={n: f"avg_pool{n}d" for n in (1, 2, 3)},
    ),
    _private(
        (
            "_avg_pool_adjoint(Tensor grad, int[] sizes, int[] kernel_size, int[] stride, int[] padding, "
            "bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
        ),
        {"grad": f"_avg_pool(g, {AVG})"}, "The adjoint of _avg_pool.", shape="list(sizes)",
    ),
    _private(
        "_adaptive_avg_pool(Tensor self, int[] output_size) -> Tensor",
        {"self": "_adaptive_avg_pool_adjoint(g, self.shape, len(output_size))"},
        "The mean of each of as many windows as the result has elements.",
        shape="adaptive(self.shape, output_size, len(output_size))",
        reported="adaptive_avg_pool2d",
        dimensions={1: "adaptive_avg_pool1d", 2: "_adaptive_avg_pool2d", 3: "_adaptive_avg_pool3d"},
    ),
    _private(
        "_adaptive_avg_pool_adjoint(Tensor grad, int[] sizes, int spatial) -> Tensor",
        {"grad": "_adaptive_avg_pool(g, grad.shape[len(grad.shape) - spatial:])"},
        "The adjoint of _adaptive_avg_pool.", shape="list(sizes)",
    ),
    _public(
        f"max_pool1d_with_indices(Tensor self, {_window(1)}) -> (Tensor, Tensor)",
        "The largest element of each window, and its position.",
        shape="[pool(self.shape, kernel_size, stride, padding, dilation, ceil_mode, 1)] * 2",
        namespace="",
    ),
    _public(
        f"avg_pool1d(Tensor self, {_window(1, False)}, bool count_include_pad=True) -> Tensor",
        "The mean of each window.", shape="pool(self.shape, kernel_size, stride, padding, 1, ceil_mode, 1)",
        out=True, namespace="",
        core=True,
        example=">>> tl.avg_pool1d(tl.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)\ntensor([[2., 6.]])",
    ),
    _public(
        "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
        "The means of as many windows as are asked for.", shape="adaptive(self.shape, output_size, 1)",
        out=True, namespace="",
        core=True,
        example=">>> tl.adaptive_avg_pool1d(tl.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)\ntensor([[2., 6.]])",
    ),
    _public(
        "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
        "The largest elements of as many windows as are asked for, and their positions.",
        shape="[adaptive(self.shape, output_size, 1)] * 2",
        namespace="",
        example=(
            ">>> tl.adaptive_max_pool1d(tl.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)\n(tensor([[3., 7.]]), "
            "tensor([[1, 3]]))"
        ),
    ),
    *(
        _public(
            f"max_pool{n}d(Tensor self, {_window(n)}) -> Tensor", "The largest element of each window.",
            shape=f"pool(self.shape, kernel_size, stride, padding, dilation, ceil_mode, {n})",
            namespace="", autocast=_policy(n),
            example=f">>> tl.max_pool{n}d(tl.ones(1, 3{', 8' * n}), 2).shape\ntorch.Size([1, 3{', 4' * n}])",
        )
        for n in (1, 2, 3)
    ),
    *(row for n in (2, 3) for row in (
        _public(f"max_pool{n}d_with_indices(Tensor self, {_window(n)}) -> (Tensor, Tensor)",
                "The largest element of each window, and its position in its plane.",
            shape=f"[pool(self.shape, kernel_size, stride, padding, dilation, ceil_mode, {n})] * 2",
                out=True, out_name=f"max_pool{n}d_with_indices.out(out, indices)", autocast=_policy(n),
                core=True),
        _public(
            (
                f"max_pool{n}d_with_indices_backward(Tensor grad_output, Tensor self, {_backward_window(n)}, "
                f"Tensor indices) -> Tensor"
            ),
            f"The gradient of max_pool{n}d_with_indices.",
            shape="self.shape",
            core=n == 2,
        ),
        _public(
            f"avg_pool{n}d(Tensor self, {_window(n, False)}, {AVG_TAIL}) -> Tensor",
            "The mean of each window.",
            shape=f"pool(self.shape, kernel_size, stride, padding, 1, ceil_mode, {n})",
            out=True, autocast=_policy(n),
            core=True,
        ),
        _public(
            (
                f"avg_pool{n}d_backward(Tensor grad_output, Tensor self, {_backward_window(n, False)}, bool "
                f"count_include_pad, int? divisor_override) -> Tensor"
            ),
            f"The gradient of avg_pool{n}d.",
            shape="self.shape",
            core=n == 2,
        ),
        _public(
            f"adaptive_avg_pool{n}d(Tensor self, int[{n}] output_size) -> Tensor",
            "The means of as many windows as are asked for.",
            shape=f"adaptive(self.shape, output_size, {n})",
            out=True, autocast=_policy(n),
        ),
        _public(
            f"_adaptive_avg_pool{n}d(Tensor self, int[{n}] output_size) -> Tensor",
            f"As adaptive_avg_pool{n}d.",
            shape=f"adaptive(self.shape, output_size, {n})",
            namespace="",
            core=True,
        ),
        _public(
            f"_adaptive_avg_pool{n}d_backward(Tensor grad_output, Tensor self) -> Tensor",
            f"The gradient of adaptive_avg_pool{n}d.",
            shape="self.shape",
            namespace="",
            core=n == 2,
        ),
        _public(
            f"adaptive_max_pool{n}d(Tensor self, int[{n}] output_size) -> (Tensor, Tensor)",
            "The largest elements of as many windows as are asked for, and their positions in their plane.",
            shape=f"[adaptive(self.shape, output_size, {n})] * 2",
            out=True, out_name=f"adaptive_max_pool{n}d.out(out, indices)", autocast=_policy(n),
        ),
        _public(
            f"adaptive_max_pool{n}d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
            f"The gradient of adaptive_max_pool{n}d.",
            shape="self.shape",
        ),
        _public(
            (
                f"fractional_max_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] output_size, Tensor "
                f"random_samples) -> (Tensor, Tensor)"
            ),
            "The largest elements of windows at random positions, and their positions in their plane.",
            shape=f"[adaptive(self.shape, output_size, {n})] * 2",
            out=True, out_name=f"fractional_max_pool{n}d.output(output, indices)",
            autocast="float32",
        ),
    )),
    _public(
        "max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor",
        "Elements put back where a maximum was; zeros elsewhere.",
        shape="adaptive(self.shape, output_size, 2)",
        out=True, autocast="float32",
    ),
    _public(
        (
            "max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> "
            "Tensor"
        ),
        "Elements put back where a maximum was; zeros elsewhere.",
        shape="adaptive(self.shape, output_size, 3)",
        out=True, autocast="float32",
    ),
]  # fmt: skip
