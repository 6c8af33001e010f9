"""Operators of the namespace aten that PyTorch keeps to its kernels: convolutions by algorithm, gradients, and the
like. Graphs and tools of others name them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.operators.composites import add
from tl_core.operators.packets import aten
from tl_core.sparse_layouts import parts

_MEAN, _SUM = 1, 2


# ---- convolutions
def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, behind: Any
) -> Any:
    return tl_core.convolution(x, weight, bias, stride, padding, dilation, transposed, behind, 1)


def _plain(
    x: Any, weight: Any, kernel: Any, bias: Any, stride: Any, padding: Any, dilation: Any = None
) -> Any:
    n = len(kernel)
    return _convolution(x, weight, bias, stride, padding, dilation or [1] * n, False, [0] * n)


def _transpose(
    x: Any, weight: Any, kernel: Any, bias: Any, stride: Any, padding: Any, behind: Any, dilation: Any
) -> Any:
    return _convolution(x, weight, bias, stride, padding, dilation, True, behind)


def _of(n: int) -> str:
    return f"Tensor self, Tensor weight, int[{n}] kernel_size, Tensor? bias=None, int[{n}] stride=1, int[{n}] padding=0"


add(
    [
        (f"thnn_conv2d({_of(2)}) -> Tensor", _plain),
        (f"slow_conv3d({_of(3)}) -> Tensor", _plain),
        *(
            row
            for n in (2, 3)
            for row in (
                (f"slow_conv_dilated{n}d({_of(n)}, int[{n}] dilation=1) -> Tensor", _plain),
                (
                    f"slow_conv_transpose{n}d({_of(n)}, int[{n}] output_padding=0, int[{n}] dilation=1) -> Tensor",
                    _transpose,
                ),
            )
        ),
    ]
)


# ---- losses
def _reduce(losses: Any, reduction: int) -> Any:
    return losses.mean() if reduction == _MEAN else losses.sum() if reduction == _SUM else losses


def _share(grad: Any, rows: Any, reduction: int) -> Any:
    """The gradient of each row's loss."""
    share = grad / rows.shape[0] if reduction == _MEAN else grad
    return share.expand(rows.shape[0]).unsqueeze(-1)


def _multi_margin_gradient(
    grad: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: int
) -> Any:
    rows, labels = self.reshape(-1, self.shape[-1]), target.reshape(-1, 1)
    over = margin - rows.gather(1, labels) + rows
    each = over.gt(0) * (1 if p == 1 else 2 * over)
    each = each if weight is None else each * weight[labels]
    each = (each / rows.shape[1]).scatter(1, labels, 0.0)
    each = each.scatter(1, labels, -each.sum(1, keepdim=True))
    return (each * _share(grad, rows, reduction)).to(self.dtype).reshape(self.shape)


def _label_pairs(self: Any, target: Any) -> tuple[Any, Any, Any, Any]:
    """The rows, a mask of the labels in the target, the labels, and a mask of the labelled classes."""
    rows, labels = self.reshape(-1, self.shape[-1]), target.reshape(-1, target.shape[-1])
    is_label = (labels >= 0).cumprod(1).bool()
    is_target = tl_core.zeros_like(rows).scatter_add(1, labels.clamp(min=0), is_label.to(rows.dtype)) > 0
    return rows, is_label, labels.clamp(min=0), is_target


def _over(self: Any, target: Any) -> tuple[Any, Any, Any]:
    """How far each class that is no label comes too near to each label."""
    rows, is_label, labels, is_target = _label_pairs(self, target)
    over = (1 - rows.gather(1, labels).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    return over * (is_label.unsqueeze(2) & ~is_target.unsqueeze(1)), labels, is_target


def _multilabel_margin(self: Any, target: Any, reduction: int) -> Any:
    over, _, is_target = _over(self, target)
    losses = over.sum((1, 2)) / self.shape[-1]
    losses = losses if self.ndim > 1 else losses.squeeze(0)
    return _reduce(losses, reduction), is_target.to(self.dtype).reshape(target.shape)


def _multilabel_margin_gradient(grad: Any, self: Any, target: Any, reduction: int, is_target: Any) -> Any:
    over, labels, _ = _over(self, target)
    pairs = (over > 0).to(self.dtype) / self.shape[-1]
    each = pairs.sum(1).scatter_add(1, labels, -pairs.sum(2))
    return (each * _share(grad, each, reduction)).reshape(self.shape)


_MARGIN = "Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1"

add(
    [
        (f"multi_margin_loss_backward(Tensor grad_output, {_MARGIN}) -> Tensor", _multi_margin_gradient),
        (
            (
                "multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, "
                "Tensor is_target)"
            ),
            _multilabel_margin,
        ),
        (
            (
                "multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, "
                "Tensor is_target) -> Tensor"
            ),
            _multilabel_margin_gradient,
        ),
    ]
)


# ---- activations
def _rrelu(self: Any, noise: Any, lower: Any, upper: Any, training: bool, generator: Any) -> tuple[Any, Any]:
    """The result, and the factor of each element: a sample, or 1."""
    if not training:
        factor = (lower + upper) / 2
        return tl_core.where(self <= 0, self * factor, self), noise
    samples = tl_core.empty_like(noise).uniform_(lower, upper, generator=generator)
    factors = tl_core.ones_like(noise).masked_scatter(self <= 0, samples)
    return self * factors, factors


def _rrelu_with_noise(self: Any, noise: Any, *rest: Any) -> Any:
    out, factors = _rrelu(self, noise, *rest)
    if factors is not noise:
        with tl_core.no_grad():
            noise.copy_(factors)
    return out


def _rrelu_gradient(
    grad: Any, self: Any, noise: Any, lower: Any, upper: Any, training: bool, of_result: bool
) -> Any:
    if training and upper - lower > 1e-6:
        return grad * noise
    return aten.leaky_relu_backward.default(grad, self, (lower + upper) / 2, of_result)


def _log_sigmoid(self: Any) -> Any:
    return aten.log_sigmoid.default(self), (-self.abs()).exp()


def _gelu_gradient(grad: Any, self: Any) -> Any:
    share = (1 + (self * math.sqrt(0.5)).erf()) / 2
    return grad * (share + self * (-self * self / 2).exp() / math.sqrt(2 * math.pi))


def _masked_softmax_gradient(grad: Any, output: Any, mask: Any, dim: Any) -> Any:
    d = -1 if dim is None else dim
    output = output.masked_fill(mask, 0)
    return output * (grad - (grad * output).sum(d, keepdim=True))


_FACTORS = (
    "Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None"
)

add(
    [
        (f"rrelu_with_noise(Tensor self, Tensor(b!) noise, {_FACTORS}) -> Tensor", _rrelu_with_noise),
        (
            f"rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, {_FACTORS}) -> Tensor(a!)",
            lambda self, *rest: self.copy_(_rrelu_with_noise(self, *rest)),
        ),
        (
            f"rrelu_with_noise_functional(Tensor self, Tensor noise, {_FACTORS}) -> (Tensor, Tensor noise_out)",
            _rrelu,
        ),
        (
            (
                "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar "
                "upper, bool training, bool self_is_result) -> Tensor"
            ),
            _rrelu_gradient,
        ),
        ("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", _log_sigmoid),
        ("infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor", _gelu_gradient),
        (
            "_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor",
            _masked_softmax_gradient,
        ),
    ]
)


# ---- norms
def _batch_norm_by_index(*args: Any) -> Any:
    *own, _other_library = args
    x = args[0]
    return *aten.native_batch_norm.default(*own), x.new_empty([0], dtype=tl_core.uint8), 0


def _other_dims(v: Any, dim: int) -> list[int]:
    return [d for d in range(v.ndim) if d != dim % v.ndim]


def _weight_norm(v: Any, g: Any, dim: int) -> Any:
    norms = tl_core.linalg.vector_norm(v, 2, _other_dims(v, dim), keepdim=True)
    norms = norms.reshape(g.shape)
    return v * (g / norms), norms


def _weight_norm_gradients(grad: Any, v: Any, g: Any, norms: Any, dim: int) -> Any:
    along = (grad * v).sum(_other_dims(v, dim), keepdim=True)
    return g / norms * (grad - v * along / norms**2), along / norms


add(
    [
        (
            (
                "_batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
                "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, "
                "Tensor, Tensor, int)"
            ),
            _batch_norm_by_index,
        ),
        ("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", _weight_norm),
        (
            (
                "_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor "
                "saved_norms, int dim) -> (Tensor, Tensor)"
            ),
            _weight_norm_gradients,
        ),
    ]
)


# ---- indices
def _embedding_gradient(
    grad: Any, indices: Any, rows: int, padding: int, by_frequency: bool, sparse: bool = True
) -> Any:
    op = aten._embedding_sparse_backward if sparse else aten.embedding_dense_backward
    return op(grad, indices, rows, padding, by_frequency)


def _selected_gradient(grad: Any, dim: int, indices: Any, sizes: Any, keepdim: bool) -> Any:
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(list(sizes)).scatter(dim, indices, grad)


def _fractional_gradient(grad: Any, self: Any, kernel: Any, output_size: Any, indices: Any) -> Any:
    return aten._put_by_index.default(grad, indices, list(self.shape), len(kernel))


def _affine_grid_gradient(grad: Any, size: Any, align_corners: bool) -> Any:
    batch, n = size[0], len(size) - 2
    still = tl_core.eye(n, n + 1, dtype=grad.dtype).expand(batch, n, n + 1)
    points = tl_core.affine_grid_generator(still, list(size), align_corners).reshape(batch, -1, n)
    points = tl_core.cat([points, tl_core.ones_like(points[..., :1])], -1)
    return grad.reshape(batch, -1, n).transpose(1, 2) @ points


_INDICES = "Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq"
_PUT = "Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False"

add(
    [
        (f"embedding_backward({_INDICES}, bool sparse) -> Tensor", _embedding_gradient),
        (
            f"embedding_sparse_backward({_INDICES}) -> Tensor",
            _embedding_gradient,
        ),
        (
            "embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
            lambda self, *rest: aten.embedding_renorm_.default(self.clone(), *rest),
        ),
        (
            (
                "value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, int[] sizes, bool "
                "keepdim) -> Tensor"
            ),
            _selected_gradient,
        ),
        *(
            (
                (
                    f"fractional_max_pool{n}d_backward(Tensor grad_output, Tensor self, int[{n}] kernel_size, "
                    f"int[{n}] output_size, Tensor indices) -> Tensor"
                ),
                _fractional_gradient,
            )
            for n in (2, 3)
        ),
        (
            "affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners) -> Tensor",
            _affine_grid_gradient,
        ),
        (
            f"_index_put_impl(Tensor self, {_PUT}) -> Tensor",
            lambda self, indices, values, accumulate, unsafe: self.index_put(
                tuple(indices), values, accumulate
            ),
        ),
        (
            f"_index_put_impl_(Tensor(a!) self, {_PUT}) -> Tensor(a!)",
            lambda self, indices, values, accumulate, unsafe: self.index_put_(
                tuple(indices), values, accumulate
            ),
        ),
        (
            (
                "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool "
                "return_counts=False) -> (Tensor, Tensor, Tensor)"
            ),
            lambda self, dim, inverse, counts: tl_core.unique_consecutive(self, True, True, dim),
        ),
    ],
    sizes="unique_dim_consecutive",
    mask_writes="_index_put_impl_",
)


# ---- shapes, sparse tensors, what other devices have
def _flat(tensors: Any) -> Any:
    return tl_core.cat([t.reshape(-1) for t in tensors])


def _unflatten(flat: Any, tensors: Any) -> Any:
    pieces = flat.split([t.numel() for t in tensors])
    return [piece.reshape(t.shape) for piece, t in zip(pieces, tensors, strict=True)]


def _to_dense_gradient(grad: Any, input: Any, masked_grad: Any) -> Any:
    if input.layout is tl_core.strided:
        return grad.to_dense()
    return aten._sparse_like.default(grad, input, True if masked_grad is None else masked_grad)


def _without(name: str) -> tuple[str, Callable[..., Any]]:
    return name, lambda *args: False


add(
    [
        ("flatten_dense_tensors(Tensor[] tensors) -> Tensor", _flat),
        ("unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]", _unflatten),
        (
            "_dim_arange(Tensor like, int dim) -> Tensor",
            lambda like, dim: tl_core.arange(like.shape[dim], device=like.device),
        ),
        ("_reshape_copy(Tensor self, int[] size) -> Tensor", lambda self, size: self.clone().reshape(size)),
        ("_lazy_clone(Tensor self) -> Tensor", lambda self: self.clone()),
        ("_to_cpu(Tensor[] tensors) -> Tensor[]", lambda tensors: [t.cpu() for t in tensors]),
        (
            "_grad_sum_to_size(Tensor(a) self, int[]? size) -> Tensor(a)",
            lambda self, size: self if size is None else self.sum_to_size(*size),
        ),
        (
            "_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
            lambda self, dim, keepdim: tuple(tl_core.aminmax(self, dim=dim, keepdim=keepdim)),
        ),
        ("_aminmax(Tensor self) -> (Tensor, Tensor)", lambda self: tuple(tl_core.aminmax(self))),
        ("_logcumsumexp(Tensor self, int dim) -> Tensor", lambda self, dim: tl_core.logcumsumexp(self, dim)),
        (
            "_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor",
            lambda self, factor, upper: tl_core.cholesky_solve(self, factor, upper),
        ),
        (
            "to_dense_backward(Tensor grad, Tensor input, bool? masked_grad=None) -> Tensor",
            _to_dense_gradient,
        ),
        (
            "_coalesced(Tensor self, bool coalesced) -> Tensor",
            lambda self, coalesced: parts.coo(self._indices(), self._values(), self.shape, coalesced),
        ),
        (
            "copy_sparse_to_sparse_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
            lambda self, src, non_blocking: self.copy_(src),
        ),
        (
            "to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor",
            lambda self, dtype: self.to_mkldnn(dtype),
        ),
        (
            (
                "from_file(str filename, bool? shared=None, int? size=0, *, ScalarType? dtype=None, Layout? "
                "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
            ),
            lambda *args, **kwargs: tl_core.from_file(*args, **kwargs),
        ),
        _without("is_vulkan_available() -> bool"),
        _without("cudnn_is_acceptable(Tensor self) -> bool"),
        _without(
            "_use_cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int "
            "blank) -> bool"
        ),
    ]
)
