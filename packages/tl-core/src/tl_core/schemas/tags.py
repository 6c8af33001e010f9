"""What is known of operators beyond their schemas."""

from __future__ import annotations

import enum
import functools

from tl_core import _C

__all__ = ["Tag", "tags_of"]


class Tag(enum.IntEnum):
    """What an operator is known to be or to do; `ops.aten.add.Tensor.tags` lists them.

    Example:
        >>> from tl_core import ops
        >>> Tag.pointwise in ops.aten.add.Tensor.tags
        True
    """

    core = 0
    data_dependent_output = 1
    dynamic_output_shape = 2
    flexible_layout = 3
    generated = 4
    inplace_view = 5
    maybe_aliasing_or_mutating = 6
    needs_fixed_stride_order = 7
    nondeterministic_bitwise = 8
    nondeterministic_seeded = 9
    pointwise = 10
    pt2_compliant_tag = 11
    view_copy = 12

    def __repr__(self) -> str:
        return f"Tag.{self.name}"

    __str__ = __repr__


# The operators into which all others can be taken apart.
_CORE_NAMES = (
    "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward _embedding_bag "
    "_local_scalar_dense _log_softmax _native_batch_norm_legit _native_batch_norm_legit.no_stats "
    "_native_batch_norm_legit_no_training _pdist_forward _softmax _to_copy abs acos acosh adaptive_avg_pool1d "
    "add.Scalar add.Tensor addmm alias amax amin any any.dim any.dims arange.start_step argmax argmin as_strided "
    "asin asinh atan atan2 atan2.out atanh avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d "
    "bitwise_and.Scalar bitwise_and.Tensor bitwise_not bitwise_or.Scalar bitwise_or.Tensor bitwise_xor.Scalar "
    "bitwise_xor.Tensor bmm cat ceil clamp clamp.Tensor clone col2im constant_pad_nd convolution "
    "convolution_backward copy cos cosh cumsum diagonal div.Scalar div.Scalar_mode div.Tensor div.Tensor_mode "
    "embedding embedding_dense_backward empty.memory_format empty_strided eq.Scalar eq.Tensor erf exp expand "
    "expm1 fill.Scalar flip floor fmod.Scalar fmod.Tensor full full_like gather ge.Scalar ge.Tensor gelu "
    "grid_sampler_2d gt.Scalar gt.Tensor hardtanh index.Tensor index_put index_select isinf isnan le.Scalar "
    "le.Tensor leaky_relu log log10 log1p log2 logical_and logical_not logical_or logical_xor lt.Scalar lt.Tensor "
    "masked_scatter max.dim max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices "
    "maximum mean mean.dim min.dim minimum mm mul.Scalar mul.Tensor native_dropout native_group_norm "
    "native_group_norm_backward native_layer_norm native_layer_norm_backward ne.Scalar ne.Tensor neg nonzero "
    "permute pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor prod prod.dim_int rand randn randperm reciprocal "
    "reflection_pad1d reflection_pad2d reflection_pad3d relu remainder.Scalar remainder.Tensor repeat "
    "replication_pad2d replication_pad3d resize_ round rsqrt scalar_tensor scatter.src scatter.value scatter_add "
    "scatter_reduce.two select.int select_scatter sigmoid sign sin sinh slice.Tensor slice_scatter sort "
    "split_with_sizes sqrt squeeze.dim squeeze.dims sub.Scalar sub.Tensor sum sum.dim_IntList sym_numel "
    "sym_size.int sym_storage_offset sym_stride.int tan tanh topk trunc unsqueeze upsample_bilinear2d.vec "
    "upsample_nearest2d.vec var.correction var.dim view where.self"
)
_CORE = frozenset(_CORE_NAMES.split())
_BY_VALUE_NAMES = "_local_scalar_dense equal is_nonzero allclose item"
_BY_VALUE = frozenset(_BY_VALUE_NAMES.split())
_SIZED_BY_VALUE = ("nonzero", "masked_select", "unique", "_unique", "bincount", "histc_by_value")
_INPLACE_VIEWS_NAMES = (
    "as_strided_ detach_ movedim_ moveaxis_ rename_ resize_ resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ "
    "transpose_ unsqueeze_"
)
_INPLACE_VIEWS = frozenset(_INPLACE_VIEWS_NAMES.split())

by_operator: dict[str, list[Tag]] = {}


def forget(op: str) -> None:
    """Forgets what was said of an operator that has been removed.

    Args:
        op: its name.
    """
    by_operator.pop(op, None)


def tags_of(op: str) -> list[Tag]:
    """The tags of an operator, by its native name.

    Args:
        op: such as `add.Tensor` or `mylib::sinc`.
    """
    return list(by_operator.get(op, ())) if "::" in op else list(_tags_of_row(op))


def tags_of_function(op: str) -> list[Tag]:
    """The tags of an operator of aten that is a function of Python.

    Args:
        op: such as `relu6` or `add.Scalar`.

    Example:
        >>> tags_of_function("add.Scalar")
        [Tag.core, Tag.pt2_compliant_tag]
    """
    return [*([Tag.core] if op in _CORE else []), Tag.pt2_compliant_tag]


@functools.cache
def _tags_of_row(op: str) -> tuple[Tag, ...]:
    _, _, _, _, is_view, is_random, elementwise = _C._operator_facts(op)
    base = op.partition(".")[0]
    facts = {
        Tag.core: op in _CORE,
        Tag.data_dependent_output: base in _BY_VALUE,
        Tag.dynamic_output_shape: base.startswith(_SIZED_BY_VALUE),
        Tag.inplace_view: base in _INPLACE_VIEWS,
        Tag.nondeterministic_seeded: is_random,
        Tag.pointwise: elementwise and not is_view,
        Tag.pt2_compliant_tag: True,
        Tag.view_copy: base.endswith("_copy") and base.removesuffix("_copy") in _views(),
    }
    return tuple(tag for tag, holds in facts.items() if holds)


@functools.cache
def _views() -> frozenset[str]:
    return frozenset(
        name.partition(".")[0] for name in _C._operators() if "::" not in name and _C._operator_facts(name)[4]
    )
