"""Convolutions and sliding blocks."""

from opgen.row import Composite, Op

# What the forward, input-gradient and weight-gradient products share: each is linear in both of its
# tensors and the gradients of each are the other two.
_HOW = "int[] stride, int[] padding, int[] dilation, int groups"
_ARGS = "stride, padding, dilation, groups"
_CONVOLUTION = "convolution(input.shape, weight.shape, stride, padding, dilation, groups)"
_TRANSPOSED = (
    "transposed_convolution(input.shape, weight.shape, stride, padding, output_padding, groups, dilation)"
)
_BIAS = "g.sum([d for d in range(g.ndim) if d != 1])"


def _product(signature, grad, doc, size, reported=""):
    return Op(
        signature,
        shape=f"list({size})",
        function=False,
        method=False,
        reported=reported,
        grad=grad,
        jvp="double-vjp",
        batch="rule",
        doc=doc,
    )


def _spatial(n, names):
    """`int[n] stride=[1, …], …` with PyTorch's defaults."""
    start = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0}
    return [f"int[{n}] {name}=[{', '.join([str(start[name])] * n)}]" for name in names]


def _forward(n):
    stride, padding, dilation = _spatial(n, ("stride", "padding", "dilation"))
    shown = "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1"
    doc = (
        f"The sums of the input's windows times the weight, over channels and {n} axes; groups of channels "
        "stay apart.\n\nShapes: input (N, C, *in) or (C, *in), weight (K, C / groups, *window), "
        "bias (K), result (N, K, *out)."
    )
    example = (
        f">>> tl.conv{n}d(tl.ones(1, 3{', 8' * n}), tl.ones(5, 3{', 3' * n})).shape\n"
        f"torch.Size([1, 5{', 6' * n}])"
    )
    head = "(Tensor input, Tensor weight, Tensor? bias=None, "
    return [
        Composite(
            f"conv{n}d{head}{stride}, {padding}, {dilation}, int groups=1) -> Tensor",
            method=False, shown=shown, autocast="lower", shape=_CONVOLUTION,
            doc=doc,
            example=example,
        ),
        Composite(
            f'conv{n}d.padding{head}{stride}, str padding="valid", {dilation}, int groups=1) -> Tensor',
            method=False, autocast="lower", shape=_CONVOLUTION,
            doc=f"{doc} The padding 'same' keeps the size, 'valid' is none.",
        ),
    ]  # fmt: skip


def _transposed(n):
    stride, padding, output_padding, dilation = _spatial(
        n, ("stride", "padding", "output_padding", "dilation")
    )
    overload = "" if n == 1 else ".input"
    return Composite(
        (
            f"conv_transpose{n}d{overload}(Tensor input, Tensor weight, Tensor? bias=None, {stride}, "
            f"{padding}, {output_padding}, "
            f"int groups=1, {dilation}) -> Tensor"
        ),
        method=False,
        shown="input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1",
        autocast="lower",
        shape=_TRANSPOSED,
        doc=f"The adjoint of the convolution over {n} axes: each element spreads the weight over the result.",
    )


_BLOCKS = "int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride"
_BLOCK_ARGS = "kernel_size, dilation, padding, stride"

ROWS = [
    *(row for n in (1, 2, 3) for row in _forward(n)),
    *(
        _transposed(n)
        for n in (1, 2, 3)
    ),
    Op(
        (
            "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
            "dilation, bool transposed, int[] output_padding, int groups) -> Tensor"
        ),
        shape=(
            "transposed_convolution(input.shape, weight.shape, stride, padding, output_padding, groups, "
            "dilation) if transposed else convolution(input.shape, weight.shape, stride, padding, dilation, "
            "groups)"
        ),
        out=True, method=False,
        reported="slow_conv2d_cpu",
        core=True,
        grad={
            "input": (
                f"_convolve(g, weight.conj(), None, input.shape, {_ARGS}) if transposed else "
                f"_convolve_input(g, weight.conj(), None, input.shape, {_ARGS})"
            ),
            "weight": (
                f"_convolve_weight(input.conj(), g, weight.shape, {_ARGS}) if transposed else "
                f"_convolve_weight(g, input.conj(), weight.shape, {_ARGS})"
            ),
            "bias": _BIAS,
        },
        jvp="rule", batch="rule",
        doc="The convolution of any number of axes, or its adjoint.",
        example=(
            ">>> tl.convolution(tl.ones(1, 3, 8), tl.ones(5, 3, 3), None, [1], [0], [1], False, [0], "
            "1).shape\ntorch.Size([1, 5, 6])"
        ),
    ),
    Composite(
        (
            "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] "
            "stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
            "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
        ),
        shape="[input.shape, weight.shape, [weight.shape[1] * groups if transposed else weight.shape[0]]]",
        function=False, method=False,
        core=True,
        doc="The gradients of a convolution's input, weight and bias, as far as the mask asks.",
    ),
    _product(
        f"_convolve(Tensor input, Tensor weight, Tensor? bias, int[] output_size, {_HOW}) -> Tensor",
        {
            "input": f"_convolve_input(g, weight.conj(), None, input.shape, {_ARGS})",
            "weight": f"_convolve_weight(g, input.conj(), weight.shape, {_ARGS})",
            "bias": _BIAS,
        }, "The convolution, as far as the output's shape goes.", "output_size",
        reported="slow_conv2d_cpu",
    ),
    _product(
        (
            f"_convolve_input(Tensor grad_output, Tensor weight, Tensor? bias, int[] input_size, {_HOW}) -> "
            f"Tensor"
        ),
        {
            "grad_output": f"_convolve(g, weight.conj(), None, grad_output.shape, {_ARGS})",
            "weight": f"_convolve_weight(grad_output.conj(), g, weight.shape, {_ARGS})",
            "bias": _BIAS,
        }, "The gradient of a convolution's input: the transposed convolution.", "input_size",
    ),
    _product(
        f"_convolve_weight(Tensor grad_output, Tensor input, int[] weight_size, {_HOW}) -> Tensor",
        {
            "grad_output": f"_convolve(input.conj(), g, None, grad_output.shape, {_ARGS})",
            "input": f"_convolve_input(grad_output.conj(), g, None, input.shape, {_ARGS})",
        }, "The gradient of a convolution's weight.", "weight_size",
    ),
    Composite(
        "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
        shape="[self.shape[0] + 2 * pad - weight.shape[0] + 1, self.shape[1], weight.shape[2]]",
        declared=False,
        method=False,
        doc=(
            "The convolution of sequences whose first dimension is time.\n\nShapes: input (time, batch, C), "
            "weight (window, C, K), bias (K), result (time + 2 * pad - window + 1, batch, K)."
        ),
        about={"pad": "the number of zeros at both ends of the sequences"},
        example=(
            ">>> tl.conv_tbc(tl.ones(5, 2, 3), tl.ones(3, 3, 4), tl.zeros(4)).shape\ntorch.Size([3, 2, 4])"
        ),
    ),
    Composite(
        (
            "conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad) -> (Tensor, "
            "Tensor, Tensor)"
        ),
        shape="[input.shape, weight.shape, bias.shape]", declared=False,
        function=False, method=False,
        doc="The gradients of the input, the weight and the bias of conv_tbc.",
    ),
    Op(
        f"im2col(Tensor self, {_BLOCKS}) -> Tensor",
        shape=(
            "[*self.shape[:-3], self.shape[-3] * prod(each(kernel_size, 2)), fold_length(self.shape[-2:], "
            "kernel_size, dilation, padding, stride)]"
        ),
        out=True, method=False, namespace="_nn",
        reported="im2col_out_cpu",
        grad={"self": f"col2im(g, self.shape[self.ndim - 2:], {_BLOCK_ARGS})"},
        jvp="linear", batch="fold",
        doc="The sliding blocks of the last two axes as columns, shape (N, C * block, number of blocks).",
    ),
    Op(
        f"col2im(Tensor self, int[2] output_size, {_BLOCKS}) -> Tensor",
        shape="[*self.shape[:-2], quotient(self.shape[-2], prod(each(kernel_size, 2))), *output_size]",
        out=True, method=False, namespace="_nn",
        core=True,
        grad={"self": f"im2col(g, {_BLOCK_ARGS})"},
        jvp="linear", batch="fold",
        doc="The sum of columns as overlapping blocks of an image: the adjoint of im2col.",
    ),
]  # fmt: skip
