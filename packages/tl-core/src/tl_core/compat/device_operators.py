"""Operators of aten whose kernels PyTorch has for other devices and libraries: attention, norms, convolutions.

Here each computes the same result with the kernels of the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tl_core
from tl_core._C import Tensor
from tl_core.operators.gradients import attention_backward, attention_forward
from tl_core.operators.packets import aten

__all__ = ["rows"]

Row = tuple[str, Callable[..., Any]]


# ---- attention
def _seeds(query: Tensor) -> list[Tensor]:
    """The state of the random numbers of a dropout that is not computed: a seed and an offset."""
    return [tl_core.zeros((), dtype=tl_core.int64, device=query.device) for _ in range(2)]


def _lengths(query: Tensor, key: Tensor) -> tuple[Any, Any, int, int]:
    """The ends of sequences, which are absent, and the numbers of rows and columns of the scores."""
    absent = [query.new_empty([0], dtype=tl_core.int32) for _ in range(2)]
    return absent[0], absent[1], query.shape[-2], key.shape[-2]


def _flash(q: Tensor, k: Tensor, v: Tensor, p: float, causal: bool, _debug: bool, *, scale: Any) -> Any:
    output, sums = attention_forward(q, k, v, p, causal, scale=scale)
    return output, sums, *_lengths(q, k), *_seeds(q), q.new_empty([0])


def _flash_gradients(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, sums: Tensor, *rest: Any, scale: Any
) -> Any:
    *_lengths_of_sequences, p, causal, _seed, _offset = rest
    return attention_backward(grad, q, k, v, out, sums, p, causal, scale=scale)


def _efficient(
    q: Tensor, k: Tensor, v: Tensor, bias: Any, with_sums: bool, p: float, causal: bool, *, scale: Any
) -> Any:
    output, sums = attention_forward(q, k, v, p, causal, attn_mask=bias, scale=scale)
    return output, sums if with_sums else sums[..., :0], *_seeds(q)


def _bias_gradient(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, causal: bool, scale: Any
) -> Tensor:
    """The gradient of a bias, through the scores."""
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q @ k.mT * factor + bias
    if causal:
        scores = scores.masked_fill(
            tl_core.ones(scores.shape[-2:], dtype=tl_core.bool).triu(1), -float("inf")
        )
    weights, by_weights = scores.softmax(-1), grad @ v.mT
    by_scores = weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True))
    return by_scores.sum_to_size(*bias.shape)


def _efficient_gradients(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Any,
    out: Tensor,
    sums: Tensor,
    *rest: Any,
    scale: Any,
) -> Any:
    _seed, _offset, p, mask, causal = rest
    gradients = attention_backward(grad, q, k, v, out, sums, p, causal, attn_mask=bias, scale=scale)
    by_bias = _bias_gradient(grad, q, k, v, bias, causal, scale) if mask[3] else None
    return tuple(g if needed else None for g, needed in zip((*gradients, by_bias), mask, strict=True))


def _cudnn(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Any,
    with_sums: bool,
    p: float,
    causal: bool,
    _debug: bool,
    *,
    scale: Any,
) -> Any:
    output, sums = attention_forward(q, k, v, p, causal, attn_mask=bias, scale=scale)
    return output, sums if with_sums else sums[..., :0], *_lengths(q, k), *_seeds(q), q.new_empty([0])


def _cudnn_gradients(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, sums: Tensor, *rest: Any, scale: Any
) -> Any:
    _seed, _offset, bias, *_lengths_of_sequences, p, causal = rest
    return attention_backward(grad, q, k, v, out, sums, p, causal, attn_mask=bias, scale=scale)


def _bias_of_mask(q: Tensor, k: Tensor, bias: Any, kind: int) -> tuple[Any, bool]:
    """The bias of the scores and whether they are causal, for a number of `custom_mask_type`.

    0 is no mask, 1 shows a row the columns up to its own, 2 does the same from the last row and column on.
    """
    rows, columns = q.shape[-2], k.shape[-2]
    if kind not in (0, 1, 2):
        raise ValueError(f"custom_mask_type must be 0, 1 or 2, got {kind}")
    if kind != 2 or rows == columns:
        return bias, kind != 0
    visible = tl_core.ones(rows, columns, dtype=tl_core.bool, device=q.device).tril(columns - rows)
    mask = tl_core.zeros(1, 1, rows, columns, dtype=q.dtype, device=q.device).masked_fill(
        ~visible, -float("inf")
    )
    return mask if bias is None else bias + mask, False


def _refuse_packed(starts: Any, **others: Any) -> None:
    if starts is not None:
        raise NotImplementedError(
            "attention on sequences in one batch, by cu_seqlens_q, has no kernel for the CPU"
        )
    for name, value in others.items():
        if value is not None:
            raise NotImplementedError(f"attention with {name} has no kernel for the CPU")


def _heads_outside(*tensors: Tensor) -> list[Tensor]:
    """Tensors of batch, rows, heads, columns, as batch, heads, rows, columns; and the other way round."""
    return [t.transpose(1, 2) for t in tensors]


def _rows_efficient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Any,
    starts: Any,
    _key_starts: Any,
    _max_q: Any,
    _max_k: Any,
    p: float,
    kind: int,
    with_sums: bool,
    *,
    scale: Any,
    seqlen_k: Any,
    window_size: Any,
) -> Any:
    _refuse_packed(starts, seqlen_k=seqlen_k, window_size=window_size)
    q, k, v = _heads_outside(query, key, value)
    mask, causal = _bias_of_mask(q, k, bias, kind)
    output, sums = attention_forward(q, k, v, p, causal, attn_mask=mask, scale=scale)
    sums = sums if with_sums else sums[..., :0]
    return output.transpose(1, 2), sums, *_seeds(q), q.shape[-2], k.shape[-2]


def _rows_efficient_gradients(
    *args: Any, scale: Any, num_splits_key: Any, window_size: Any, **_shared: Any
) -> Any:
    grad, query, key, value, bias, out, starts, _, _, _, sums, p, _, _, kind, with_bias = args
    _refuse_packed(starts, num_splits_key=num_splits_key, window_size=window_size)
    g, q, k, v, o = _heads_outside(grad, query, key, value, out)
    mask, causal = _bias_of_mask(q, k, bias, kind)
    gradients = attention_backward(g, q, k, v, o, sums, p, causal, attn_mask=mask, scale=scale)
    by_bias = _bias_gradient(g, q, k, v, mask, causal, scale).sum_to_size(*bias.shape) if with_bias else None
    return (*_heads_outside(*gradients), by_bias)


_INPUTS = "Tensor query, Tensor key, Tensor value"
_SAVED = f"{_INPUTS}, Tensor out, Tensor logsumexp"
_LENGTHS = "Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k"
_SEEDS = "Tensor philox_seed, Tensor philox_offset"
_DROPOUT = "float dropout_p=0., bool is_causal=False"
_SCALE = "float? scale=None"
_BIAS = "Tensor? attn_bias, bool compute_log_sumexp"


def _attention() -> Iterator[Row]:
    name = "_scaled_dot_product_flash_attention"
    results = f"(Tensor output, Tensor logsumexp, {_LENGTHS}, "
    yield (
        (
            f"{name}({_INPUTS}, {_DROPOUT}, bool return_debug_mask=False, *, {_SCALE}) -> "
            f"{results}Tensor rng_state, Tensor unused, Tensor debug_attn_mask)"
        ),
        _flash,
    )
    yield (
        (
            f"{name}_backward(Tensor grad_out, {_SAVED}, {_LENGTHS}, float dropout_p, bool is_causal, {_SEEDS}, *, "
            f"{_SCALE}) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)"
        ),
        _flash_gradients,
    )
    name = "_scaled_dot_product_efficient_attention"
    yield (
        f"{name}({_INPUTS}, {_BIAS}, {_DROPOUT}, *, {_SCALE}) -> (Tensor output, Tensor log_sumexp, {_SEEDS})",
        _efficient,
    )
    yield (
        (
            f"{name}_backward(Tensor grad_out_, {_INPUTS}, Tensor attn_bias, Tensor out, Tensor logsumexp, {_SEEDS}, "
            f"float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, {_SCALE}) -> (Tensor, Tensor, "
            "Tensor, Tensor)"
        ),
        _efficient_gradients,
    )
    name = "_scaled_dot_product_cudnn_attention"
    yield (
        (
            f"{name}({_INPUTS}, {_BIAS}, {_DROPOUT}, bool return_debug_mask=False, *, {_SCALE}) -> "
            f"{results}{_SEEDS}, Tensor debug_attn_mask)"
        ),
        _cudnn,
    )
    yield (
        (
            f"{name}_backward(Tensor grad_out, {_SAVED}, {_SEEDS}, Tensor attn_bias, {_LENGTHS}, float dropout_p, "
            f"bool is_causal, *, {_SCALE}) -> (Tensor, Tensor, Tensor)"
        ),
        _cudnn_gradients,
    )


def _attention_on_rows() -> Iterator[Row]:
    sequences = "Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt{0} max_seqlen_q, SymInt{0} max_seqlen_k"
    yield (
        (
            f"_efficient_attention_forward({_INPUTS}, Tensor? bias, {sequences.format('?')}, float dropout_p, int "
            f"custom_mask_type, bool compute_log_sumexp=False, *, {_SCALE}, Tensor? seqlen_k=None, int? "
            f"window_size=None) -> (Tensor output, Tensor logsumexp, {_SEEDS}, SymInt max_seqlen_batch_q, SymInt "
            "max_seqlen_batch_k)"
        ),
        _rows_efficient,
    )
    yield (
        (
            f"_efficient_attention_backward(Tensor grad_out_, {_INPUTS}, Tensor? bias, Tensor out, "
            f"{sequences.format('')}, Tensor logsumexp, float dropout_p, {_SEEDS}, int custom_mask_type, bool "
            f"bias_requires_grad, *, {_SCALE}, int? num_splits_key=None, int? window_size=None, bool "
            "shared_storage_dqdkdv=False) -> (Tensor, Tensor, Tensor, Tensor)"
        ),
        _rows_efficient_gradients,
    )


# ---- norms
def _batch_norm(
    x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, factor: float, epsilon: float
) -> Any:
    return aten.native_batch_norm.default(x, weight, bias, mean, var, training, factor, epsilon)


def _batch_norm_gradients(x: Tensor, grad: Tensor, weight: Any, *rest: Any) -> Any:
    mean, var, save_mean, save_invstd, epsilon = rest
    saved = save_mean, save_invstd, True, epsilon, [True, True, True]
    return aten.native_batch_norm_backward.default(grad, x, weight, mean, var, *saved)


_STATISTICS = "Tensor? running_mean, Tensor? running_var"


def _norms() -> Iterator[Row]:
    for library, reserve in (("cudnn", True), ("miopen", False)):
        count = 4 if reserve else 3
        yield (
            (
                f"{library}_batch_norm(Tensor input, Tensor weight, Tensor? bias, {_STATISTICS}, bool training, float "
                f"exponential_average_factor, float epsilon) -> ({', '.join(['Tensor'] * count)})"
            ),
            (lambda *args: (*_batch_norm(*args), args[0].new_empty([0], dtype=tl_core.uint8)))
            if reserve
            else _batch_norm,
        )
        space = ", Tensor reserveSpace" if reserve else ""
        yield (
            (
                f"{library}_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, {_STATISTICS}, "
                f"Tensor? save_mean, Tensor? save_var, float epsilon{space}) -> (Tensor, Tensor, Tensor)"
            ),
            (lambda *args: _batch_norm_gradients(*args[:-1])) if reserve else _batch_norm_gradients,
        )


# ---- convolutions
def _convolution(
    x: Tensor, weight: Tensor, bias: Any, padding: Any, stride: Any, dilation: Any, groups: int
) -> Tensor:
    return tl_core.convolution(x, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups)


def _plain(
    x: Tensor, weight: Tensor, padding: Any, stride: Any, dilation: Any, groups: int, *_switches: bool
) -> Any:
    return _convolution(x, weight, None, padding, stride, dilation, groups)


def _transposed_convolution(
    x: Tensor,
    weight: Tensor,
    padding: Any,
    behind: Any,
    stride: Any,
    dilation: Any,
    groups: int,
    *_switches: bool,
) -> Tensor:
    return tl_core.convolution(x, weight, None, stride, padding, dilation, True, behind, groups)


def _with_bias(
    x: Tensor, weight: Tensor, bias: Any, padding: Any, stride: Any, dilation: Any, *rest: Any
) -> Tensor:
    return _convolution(x, weight, bias, padding, stride, dilation, rest[0])


def _relu(
    x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    return _convolution(x, weight, bias, padding, stride, dilation, groups).relu()


def _add_relu(x: Tensor, weight: Tensor, z: Tensor, alpha: Any, bias: Any, *rest: Any) -> Tensor:
    stride, padding, dilation, groups = rest
    product = _convolution(x, weight, bias, padding, stride, dilation, groups)
    return product.add(z, alpha=1 if alpha is None else alpha).relu()


_PLAIN = "SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups"
_FUSED = "Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups"
_SWITCHES = "bool benchmark, bool deterministic"


def _convolutions() -> Iterator[Row]:
    operands = "Tensor self, Tensor weight"
    behind = "SymInt[] padding, SymInt[] output_padding, SymInt[] stride, SymInt[] dilation, SymInt groups"
    yield f"cudnn_convolution({operands}, {_PLAIN}, {_SWITCHES}, bool allow_tf32) -> Tensor", _plain
    yield (
        f"cudnn_convolution_transpose({operands}, {behind}, {_SWITCHES}, bool allow_tf32) -> Tensor",
        _transposed_convolution,
    )
    for name in ("miopen_convolution", "miopen_depthwise_convolution"):
        yield f"{name}({operands}, Tensor? bias, {_PLAIN}, {_SWITCHES}) -> Tensor", _with_bias
    yield f"mkldnn_convolution({operands}, Tensor? bias, {_PLAIN}) -> Tensor", _with_bias
    for library in ("cudnn", "miopen"):
        yield f"{library}_convolution_relu({operands}, {_FUSED}) -> Tensor", _relu
        yield (
            f"{library}_convolution_add_relu({operands}, Tensor z, Scalar? alpha, {_FUSED}) -> Tensor",
            _add_relu,
        )


# ---- layouts of oneDNN, bags
_BAG = (
    "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1"
)


def _further_rows() -> Iterator[Row]:
    yield (
        "_mkldnn_transpose(Tensor self, int dim0, int dim1) -> Tensor",
        lambda self, *dims: self.transpose(*dims).clone(),
    )
    yield (
        "_mkldnn_transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
        lambda self, *dims: self.transpose_(*dims),
    )
    yield (
        "_mkldnn_reshape(Tensor self, int[] shape) -> Tensor",
        lambda self, shape: self.reshape(shape).clone(),
    )
    yield (
        f"_embedding_bag_forward_only({_BAG}) -> (Tensor, Tensor, Tensor, Tensor)",
        lambda *args: aten._embedding_bag.default(*args),
    )


def rows() -> list[Row]:
    """The schemas and functions."""
    return [*_attention(), *_attention_on_rows(), *_norms(), *_convolutions(), *_further_rows()]
