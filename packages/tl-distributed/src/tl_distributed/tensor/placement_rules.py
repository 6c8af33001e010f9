"""Rules of operators whose placements depend on more than a pattern: views of other sizes, indices, norms, losses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from .operator_call import OperatorCall, Strategy
from .placement_types import Partial, Placement, Replicate, Shard, _NormPartial, _StridedShard
from .strategies import register

__all__: list[str] = []


# ---- geometry --------------------------------------------------------------------------------------------------------


@register("view", "view_copy")
def _view(call: OperatorCall) -> list[Strategy]:
    """The first dimension of each group of dimensions that make dimensions of the result."""
    own, result = call.metas[0].shape, call.results[0].shape
    strategies = []
    for before, after in _groups(own, result):
        first = next((d for d in before if own[d] != 1), before[0] if before else None)
        then = next((d for d in after if result[d] != 1), after[0] if after else None)
        if first is None or then is None:
            continue
        pieces = call.cuts(0, first)
        is_same = own[first] == result[then]
        if is_same or (own[first] % pieces == 0 and result[then] % pieces == 0):
            strategies.append(Strategy((Shard(first),), (Shard(then),)))
    kinds = ("sum", "avg", "max", "min", "product")
    return strategies + [Strategy((Partial(kind),), (Partial(kind),)) for kind in kinds]


def _groups(own: Sequence[int], result: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions of both sizes with as many elements."""
    if 0 in own:
        yield from (([d], [d]) for d in range(min(len(own), len(result))) if own[d] == result[d])
        return
    i = j = 0
    while i < len(own) or j < len(result):
        before, after = [], []
        left = right = 1
        while True:
            if i < len(own) and (left <= right or j == len(result)):
                left *= own[i]
                before.append(i)
                i += 1
            elif j < len(result):
                right *= result[j]
                after.append(j)
                j += 1
            if left == right and ((before and after) or (i == len(own) and j == len(result))):
                break
        yield before, after


@register("unsum")
def _unsum(call: OperatorCall) -> list[Strategy]:
    """A gradient repeated along the dimensions of a sum."""
    ndim, keeps = call.results[0].dim(), call.arguments["keepdim"]
    dims = call.arguments["dim"]
    summed = {d % max(ndim, 1) for d in dims} if dims else set(range(ndim))
    strategies = []
    for dim in range(ndim):
        if dim in summed:
            strategies.append(Strategy((Replicate(),), (Shard(dim),)))
        else:
            own = dim if keeps else dim - sum(1 for s in summed if s < dim)
            strategies.append(Strategy((Shard(own),), (Shard(dim),)))
    return strategies


@register("permute_backward")
def _permute_backward(call: OperatorCall) -> list[Strategy]:
    dims = call.arguments["dims"]
    return [Strategy((Shard(i),), (Shard(dim % len(dims)),)) for i, dim in enumerate(dims)]


@register("diag_embed")
def _diag_embed(call: OperatorCall) -> list[Strategy]:
    ndim = call.results[0].dim()
    new = {call.arguments["dim1"] % ndim, call.arguments["dim2"] % ndim}
    old_dims = [dim for dim in range(ndim) if dim not in new]
    return [Strategy((Shard(i),), (Shard(dim),)) for i, dim in enumerate(old_dims)]


# ---- indices ---------------------------------------------------------------------------------------------------------


@register("index_select")
def _index_select(call: OperatorCall) -> list[Strategy]:
    own, index = call.metas
    if own.dim() == 0:
        return []
    index_dim = call.arguments["dim"] % own.dim()
    strategies = [
        Strategy((Shard(dim), Replicate()), (Shard(dim),)) for dim in range(own.dim()) if dim != index_dim
    ]
    return [*strategies, *[Strategy((Replicate(), Shard(0)), (Shard(index_dim),))] * index.dim()]


@register("index_select_backward")
def _index_select_backward(call: OperatorCall) -> list[Strategy]:
    grad, index = call.metas
    if call.results[0].dim() == 0:
        return []
    index_dim = call.arguments["dim"] % call.results[0].dim()
    strategies = [
        Strategy((Shard(dim), Replicate()), (Shard(dim),)) for dim in range(grad.dim()) if dim != index_dim
    ]
    return [*strategies, *[Strategy((Shard(index_dim), Shard(0)), (Partial("sum"),))] * index.dim()]


def _whole_dims(call: OperatorCall, own: Tensor) -> Iterator[tuple[int, int]]:
    """The dimensions that no index takes elements of, and their positions in the result."""
    indices = list(call.arguments["indices"])
    index_dims = [dim for dim, index in enumerate(indices) if index is not None]
    if not index_dims or any(index is not None and not _is_integral(index) for index in indices):
        return
    width = max(indices[dim].dim() for dim in index_dims)
    is_run = index_dims == list(range(index_dims[0], index_dims[-1] + 1))
    start = index_dims[0] if is_run else 0
    for dim in range(own.dim()):
        if dim not in index_dims:
            before = sum(1 for t in index_dims if t < dim)
            yield dim, dim - before + (width if dim - before >= start else 0)


def _is_integral(index: Tensor) -> bool:
    return "int" in str(index.dtype) and "uint8" not in str(index.dtype)


@register("index")
def _index(call: OperatorCall) -> list[Strategy]:
    rest = (Replicate(),) * (len(call.operands) - 1)
    return [Strategy((Shard(dim), *rest), (Shard(there),)) for dim, there in _whole_dims(call, call.metas[0])]


@register("index_backward")
def _index_backward(call: OperatorCall) -> list[Strategy]:
    rest = (Replicate(),) * (len(call.operands) - 1)
    return [
        Strategy((Shard(there), *rest), (Shard(dim),)) for dim, there in _whole_dims(call, call.results[0])
    ]


@register("index_put_")
def _index_put(call: OperatorCall) -> list[Strategy]:
    own, values = call.metas[0], call.metas[-1]
    positions = list(_whole_dims(call, own))
    indices = call.metas[1:-1]
    width = max((index.dim() for index in indices), default=0)
    result_ndim = own.dim() - len(indices) + width
    strategies = []
    for dim, there in positions:
        own_dim = there - (result_ndim - values.dim())
        is_cut = own_dim >= 0 and values.shape[own_dim] == own.shape[dim]
        placed = Shard(own_dim) if is_cut else Replicate()
        strategies.append(Strategy((Shard(dim), *[Replicate()] * len(indices), placed), (Shard(dim),)))
    return strategies


# ---- embeddings ------------------------------------------------------------------------------------------------------


def _own_rows(indices: Tensor, rows: int, count: int, rank: int) -> tuple[Tensor, Tensor, int, int]:
    """The indices within this rank's rows, which of them it has, the number of its rows, and the first."""
    size, offset = Shard.local_shard_size_and_offset(rows, count, rank)
    own = (indices >= offset) & (indices < offset + size)
    return indices - offset, own, size, offset


@register("embedding")
def _embedding(call: OperatorCall) -> list[Strategy]:
    """A rank with some of the rows has a term: its rows, and zeros for all others."""
    rows = call.metas[0].shape[0]

    def local(arguments: dict[str, Any], count: int, rank: int) -> Tensor:
        weight = arguments["weight"]
        index, own, size, _ = _own_rows(arguments["indices"], rows, count, rank)
        if size == 0:
            return weight.new_zeros((*index.shape, weight.shape[1]))
        return weight[index * own] * own.unsqueeze(-1).to(weight.dtype)

    return [Strategy((Shard(0), Replicate()), (Partial("sum"),), local, is_exclusive=True)]


@register("embedding_dense_backward")
def _embedding_dense_backward(call: OperatorCall) -> list[Strategy]:
    """Each rank adds the gradients of its rows; all others go to a row that is cut off."""
    func, rows = call.func, call.arguments["num_weights"]

    def local(arguments: dict[str, Any], count: int, rank: int) -> Tensor:
        index, own, size, offset = _own_rows(arguments["indices"], rows, count, rank)
        padding = arguments["padding_idx"]
        own_padding = padding - offset if offset <= padding < offset + size else -1
        index = index.where(own, tl_core.full_like(index, size))
        grad, scales = arguments["grad_output"], arguments["scale_grad_by_freq"]
        return func(grad, index, size + 1, own_padding, scales).narrow(0, 0, size)

    return [Strategy((Replicate(), Replicate()), (Shard(0),), local, is_preferred=True, is_exclusive=True)]


# ---- norms -----------------------------------------------------------------------------------------------------------


def _samples(call: OperatorCall, own: int, meta: Tensor) -> Iterator[tuple[int, Placement]]:
    """The dimensions of the samples, and the placement of a result with a row for each sample."""
    count, sizes = call.arguments["N"], meta.shape
    first = next((i for i in range(len(sizes) + 1) if math.prod(sizes[:i]) == count), 0)
    if count == 1:
        first = next((i for i in range(len(sizes)) if sizes[i] != 1), len(sizes))
    for dim in range(first):
        if sizes[dim] % call.cuts(own, dim) == 0:
            before = math.prod(sizes[:dim])
            yield dim, Shard(0) if before == 1 else _StridedShard(0, split_factor=before)


def _own_samples(names: Sequence[str]) -> Any:
    def local(arguments: dict[str, Any], count: int, rank: int) -> None:
        name = next(n for n in names if arguments.get(n) is not None)
        arguments["N"] = arguments[name].numel() // (arguments["C"] * arguments["S"])

    return local


@register("_sample_norm")
def _sample_norm(call: OperatorCall) -> list[Strategy]:
    rest = (Replicate(),) * (len(call.operands) - 1)
    local = _own_samples(["input"])
    return [
        Strategy((Shard(dim), *rest), (Shard(dim), rows, rows), local)
        for dim, rows in _samples(call, 0, call.metas[0])
    ]


@register("_sample_norm_backward")
def _sample_norm_backward(call: OperatorCall) -> list[Strategy]:
    rest = (Replicate(),) * (len(call.operands) - 4)
    wants = call.arguments
    strategies = []
    for dim, rows in _samples(call, 1, call.metas[1]):
        results: list[Placement] = [Shard(dim)] * wants["want_input"]
        results += [Partial("sum")] * (wants["want_weight"] + wants["want_bias"])
        if len(results) == len(call.results):
            operands = (Shard(dim), Shard(dim), rows, rows, *rest)
            strategies.append(Strategy(operands, tuple(results), _own_samples(["input"])))
    return strategies


# ---- losses of classes -----------------------------------------------------------------------------------------------

_NONE, _MEAN = 0, 1


def _class_dims(scores: Tensor) -> Iterator[tuple[int, int]]:
    """The dimensions of scores that aren't classes, and their positions in the targets."""
    if scores.dim() > 1:
        yield 0, 0
        yield from ((dim, dim - 1) for dim in range(2, scores.dim()))


@register("_cross_entropy", "nll_loss_forward")
def _cross_entropy(call: OperatorCall) -> list[Strategy]:
    reduction = call.arguments["reduction"]
    if reduction == _MEAN:
        return []
    rest = (Replicate(),) * (len(call.operands) - 2)
    strategies = []
    for dim, there in _class_dims(call.metas[0]):
        loss: Placement = Shard(there) if reduction == _NONE else Partial("sum")
        sums = [Shard(there)] if len(call.results) == 3 else []
        if reduction == _NONE and call.name == "nll_loss_forward":
            continue  # its second result doesn't depend on the scores, and is no term
        results = (loss, *sums, Partial("sum"))
        strategies.append(Strategy((Shard(dim), Shard(there), *rest), results))
    return strategies


@register("_cross_entropy_backward")
def _cross_entropy_backward(call: OperatorCall) -> list[Strategy]:
    is_each = call.arguments["reduction"] == _NONE
    rest = (Replicate(),) * (len(call.operands) - 5)
    strategies = []
    for dim, there in _class_dims(call.metas[1]):
        placed = Shard(there)
        operands = (placed if is_each else Replicate(), Shard(dim), placed, Replicate(), placed, *rest)
        strategies.append(Strategy(operands, (Shard(dim),)))
    return strategies


@register("_nll_loss_backward")
def _nll_loss_backward(call: OperatorCall) -> list[Strategy]:
    is_each = call.arguments["reduction"] == _NONE
    rest = (Replicate(),) * (len(call.operands) - 3)
    strategies = []
    for dim, there in _class_dims(call.results[0]):
        grad = Shard(there) if is_each else Replicate()
        operands = (grad, Shard(there), *rest, Replicate())
        strategies.append(Strategy(operands, (Shard(dim),)))
    return strategies


# ---- norms -----------------------------------------------------------------------------------------------------------


@register("linalg_vector_norm")
def _vector_norm(call: OperatorCall) -> list[Strategy]:
    """The norms of pieces are terms of the norm."""
    own, order = call.metas[0], float(call.arguments["ord"])
    dims = _reduced_dims(call, own.dim())
    strategies = []
    for dim in range(own.dim()):
        pieces = call.cuts(0, dim)
        has_all = (pieces - 1) * -(-own.shape[dim] // pieces) < own.shape[dim]  # no piece is empty
        if dim in dims and order > 0 and (has_all or order != math.inf):
            strategies.append(Strategy((Shard(dim),), (_NormPartial("sum", order),)))
        elif dim not in dims:
            then = dim if call.arguments["keepdim"] else dim - sum(d < dim for d in dims)
            strategies.append(Strategy((Shard(dim),), (Shard(then),)))
    return strategies


def _reduced_dims(call: OperatorCall, ndim: int) -> set[int]:
    dims = call.arguments["dim"]
    if dims is None or dims == []:
        return set(range(ndim))
    return {dim % ndim for dim in ([dims] if isinstance(dims, int) else dims)} if ndim else set()
