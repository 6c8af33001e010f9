"""Normalization: subtract the mean, divide by the standard deviation, scale and shift."""

from opgen.row import Composite, Op

WANTED = "bool want_input, bool want_weight, bool want_bias"
_GRADIENTS = (
    "[input.shape if want_input else None, [input.shape[1]] if want_weight else None, "
    "[input.shape[1]] if want_bias else None]"
)


def _private(signature, **fields):
    return Op(signature, function=False, method=False, batch="rule", **{"jvp": "double-vjp", **fields})


ROWS = [
    Composite(
        "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", shape="self.shape",
        inplace=True, out=True,
        doc="Each slice along a dimension, scaled down where its p-norm exceeds maxnorm.",
        about={"maxnorm": "the largest norm that a slice may have"},
        example=(
            ">>> tl.renorm(tl.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)\ntensor([[0.6000, 0.8000],\n        "
            "[0.3000, 0.4000]])"
        ),
    ),
    _private(
        (
            "_sample_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int S, int groups, float "
            "eps, bool centered) -> (Tensor output, Tensor mean, Tensor rstd)"
        ),
        shape="[input.shape, [N, groups], [N, groups]]",
        reported="GroupNormKernelImpl",
        grad={
            "input, weight, bias": (
                "_sample_norm_backward(g0, input, mean, rstd, weight, bias, N, C, S, groups, eps, centered, "
                "needs[0], needs[1], needs[2])"
            ),
        },
        jvp="rule",
        doc=(
            "Normalizes each group of the channels of each sample of an input of N samples, C channels and S "
            "elements."
        ),
    ),
    _private(
        (
            "_sample_norm_backward(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, "
            "Tensor? bias, int N, int C, int S, "
            f"int groups, float eps, bool centered, {WANTED}) -> (Tensor, Tensor, Tensor)"
        ),
        shape=_GRADIENTS.replace("input.shape[1]", "C"),
        grad={
            "grad, input, weight": (
                "_norm_double_backward(g0, g1, g2, grad, input, weight, None, None, [N, groups, C // groups, "
                "S], [2, 3], [1, groups, C // groups, 1], eps, centered)"
            ),
        },
        doc="The gradients of _sample_norm.",
    ),
    _private(
        (
            "_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
            "running_var, bool training, float momentum, float eps) -> (Tensor output, Tensor mean, Tensor "
            "rstd)"
        ),
        shape="[input.shape, [input.shape[1]], [input.shape[1]]]",
        reported="batch_norm",
        grad={
            "input, weight, bias": (
                "_batch_norm_backward(g0, input, mean, rstd, weight, training, eps, needs[0], needs[1], "
                "needs[2])"
            ),
        },
        jvp="rule",
        doc=(
            "Normalizes each channel over all samples, or with given statistics unless training; updates the "
            "running ones."
        ),
    ),
    _private(
        (
            "_batch_norm_backward(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, bool "
            "training, float eps, "
            f"{WANTED}) -> (Tensor, Tensor, Tensor)"
        ),
        shape=_GRADIENTS,
        grad={
            "grad, input, weight": (
                "_norm_double_backward(g0, g1, g2, grad, input, weight, None if training else mean, None if "
                "training else rstd, [input.size(0), input.size(1), -1], [0, 2], [1, input.size(1), 1], eps, "
                "True)"
            ),
        },
        doc="The gradients of _batch_norm.",
    ),
    Composite(
        (
            "_norm_double_backward(Tensor? grad_input_grad, Tensor? grad_weight_grad, Tensor? "
            "grad_bias_grad, Tensor grad, Tensor input, Tensor? weight, Tensor? mean, Tensor? rstd, int[] "
            "sizes, int[] dims, int[] weight_sizes, float eps, bool centered) -> (Tensor, Tensor, Tensor)"
        ),
        function=False, method=False,
        doc="The double backward of a normalization: the gradients of its backward pass.",
    ),
    Composite(
        (
            "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
            "eps=1e-05, bool cudnn_enable=True) -> Tensor"
        ),
        shape="input.shape",
        method=False,
        doc="Normalizes over the last dimensions, those of `normalized_shape`.",
        example=">>> tl.layer_norm(tl.tensor([1.0, 3.0]), (2,))\ntensor([-1.0000,  1.0000])",
    ),
    Composite(
        (
            "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float "
            "eps) -> (Tensor, Tensor, Tensor)"
        ),
        shape=(
            "[input.shape] + [[*input.shape[:input.ndim - len(normalized_shape)], *[1 for n in "
            "normalized_shape]]] * 2"
        ),
        out=True, method=False,
        core=True,
        doc="layer_norm with the mean and the reciprocal standard deviation of each row.",
        example=(
            ">>> result, mean, rstd = tl.native_layer_norm(tl.tensor([[1.0, 3.0]]), [2], None, None, 0.0)\n"
            ">>> result, mean, rstd\n(tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))"
        ),
    ),
    Composite(
        "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
        shape="input.shape",
        method=False,
        doc="Divides by the root of the mean square over the last dimensions, those of `normalized_shape`.",
        example=">>> tl.rms_norm(tl.tensor([3.0, 4.0]), (2,))\ntensor([0.8485, 1.1314])",
    ),
    Composite(
        (
            "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
            "eps=1e-05, bool cudnn_enabled=True) -> Tensor"
        ),
        shape="input.shape",
        method=False,
        doc="Normalizes each group of channels of each sample.",
        example=">>> tl.group_norm(tl.tensor([[1.0, 3.0]]), 1)\ntensor([[-1.0000,  1.0000]])",
    ),
    Composite(
        (
            "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, "
            "float eps) -> (Tensor, Tensor, Tensor)"
        ),
        shape="[input.shape, [N, group], [N, group]]",
        out=True, method=False,
        core=True,
        doc="group_norm with the mean and the reciprocal standard deviation of each group.",
        example=(
            ">>> x = tl.tensor([[[1.0, 3.0], [2.0, 6.0]]])\n>>> tl.native_group_norm(x, None, None, 1, 2, 2, "
            "2, 0.0)[1:]\n(tensor([[2., 4.]]), tensor([[1.0000, 0.5000]]))"
        ),
    ),
    Composite(
        (
            "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
            "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor"
        ),
        shape="input.shape",
        method=False,
        doc="Normalizes each channel over all samples, or with the running statistics unless training.",
        example=(
            ">>> x = tl.tensor([[1.0, 10.0], [3.0, 30.0]])\n>>> tl.batch_norm(x, None, None, None, None, "
            "True, 0.1, 0.0, False)\ntensor([[-1., -1.],\n        [ 1.,  1.]])"
        ),
    ),
    Composite(
        (
            "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
            "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
        ),
        shape="[input.shape] + [[input.shape[1] if training else 0]] * 2",
        out=True, out_name="native_batch_norm.out(out, save_mean, save_invstd)", method=False,
        doc="batch_norm with the mean and the reciprocal standard deviation of each channel.",
        example=(
            ">>> x = tl.tensor([[1.0, 10.0], [3.0, 30.0]])\n>>> tl.native_batch_norm(x, None, None, None, "
            "None, True, 0.1, 0.0)[1:]\n(tensor([ 2., 20.]), tensor([1.0000, 0.1000]))"
        ),
    ),
    Composite(
        (
            "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
            "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor"
        ),
        shape="input.shape",
        method=False,
        doc="Normalizes each channel of each sample.",
        example=(
            ">>> x = tl.tensor([[[1.0, 3.0], [10.0, 30.0]]])\n>>> tl.instance_norm(x, None, None, None, "
            "None, True, 0.1, 0.0, False)\ntensor([[[-1.,  1.],\n         [-1.,  1.]]])"
        ),
    ),
]  # fmt: skip
