"""How nested tensors are made."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested.ragged import Ragged, offsets_of
from tl_core.nested.tensor import NestedTensor, as_nested, view_of_values
from tl_core.tensors.parameter import as_leaf

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged"]


def _check_layout(name: str, layout: Any) -> bool:
    """Whether it is the jagged one."""
    if layout is None or layout is _C.strided:
        return False
    if layout is _C.jagged:
        return True
    raise RuntimeError(f"Specified layout is unsupported for nested {name}: {layout}")


def _as_tensors(tensor_list: Any, dtype: Any, device: Any) -> list[Tensor]:
    tensors = [t if isinstance(t, Tensor) else _C.tensor(t, dtype=dtype) for t in tensor_list]
    if not tensors:
        return tensors
    dtype, device = dtype or tensors[0].dtype, device or tensors[0].device
    return [t.to(device=device, dtype=dtype) for t in tensors]


def _ragged_dim(tensors: list[Tensor]) -> int:
    """The dimension in which components differ; the first if none."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if len({t.dim() for t in tensors}) > 1:
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must have the same dim, got "
            f"{sorted({t.dim() for t in tensors})}"
        )
    if tensors[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    irregular = [
        d for d, sizes in enumerate(zip(*(t.shape for t in tensors), strict=True)) if len(set(sizes)) > 1
    ]
    if len(irregular) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged "
            "layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged "
            f"* dim. The components differ in dimensions {irregular}"
        )
    return irregular[0] if irregular else 0


def jagged_from_tensors(tensors: list[Tensor]) -> NestedTensor:
    """The components one after the other; gradients flow to them."""
    d = _ragged_dim(tensors)
    lengths = [t.shape[d] for t in tensors]
    offsets = [0]
    for n in lengths:
        offsets.append(offsets[-1] + n)
    where = _C.tensor(offsets, dtype=_C.int64, device=tensors[0].device)
    ragged = Ragged(where, None, min(lengths), max(lengths))
    ragged._counts, ragged._starts = lengths, offsets[:-1]
    return as_nested(_C.cat(tensors, d), ragged, d + 1)


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor of copies of the components, a leaf of the graph.

    Args:
        tensor_list: tensors, or what `tensor` takes, of one number of dimensions.
        dtype, device: of the result. Default: those of the first component.
        layout: `torch.jagged`, for components that differ in one dimension, or `torch.strided`, the default.
        requires_grad: whether gradients are wanted.
        pin_memory: accepted for compatibility.

    Raises:
        TypeError: `tensor_list` is not a list or tuple.
        RuntimeError: the components have different numbers of dimensions, or differ in more than one.

    Example:
        >>> import tl_core as tl
        >>> x = nested_tensor([[1.0, 2.0], [3.0]], layout=tl.jagged, requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad.values()
        tensor([2., 4., 6.])
    """
    jagged = _check_layout("tensors", layout)
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(
            f"nested_tensor(): argument 'tensor_list' must be a list or tuple, got {type(tensor_list).__name__}"
        )
    with _no_grad():
        if jagged:
            result: Tensor = jagged_from_tensors(_as_tensors(tensor_list, dtype, device))
        else:
            from tl_core.nested.strided_operators import strided_from_tensors

            result = strided_from_tensors(_as_tensors(tensor_list, dtype, device), dtype)
    return as_leaf(result, requires_grad)


def _no_grad() -> Any:
    from tl_core.dispatch.grad_mode import no_grad

    return no_grad()


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """A nested tensor through which gradients flow to what it is made of.

    Args:
        ts: a nested tensor, which is returned if nothing changes; a tensor, whose first dimension is the batch; or a
            list or tuple of components, which are copied.
        dtype, device: of the result. Default: those of the first component.
        layout: `torch.jagged` or `torch.strided`, the default.

    Raises:
        TypeError: `ts` is none of these.
        RuntimeError: a nested tensor is of another layout; as for `nested_tensor`.

    Example:
        >>> import tl_core as tl
        >>> a, b = tl.ones(2, requires_grad=True), tl.ones(3, requires_grad=True)
        >>> as_nested_tensor([a, b], layout=tl.jagged).sum().backward()
        >>> b.grad
        tensor([1., 1., 1.])
    """
    jagged = _check_layout("tensors", layout)
    if isinstance(ts, Tensor):
        if ts.is_nested:
            return _convert(ts, dtype, device, layout)
        return _as_batch(ts.to(device=device or ts.device, dtype=dtype or ts.dtype), jagged)
    if not isinstance(ts, (list, tuple)) or not all(isinstance(t, Tensor) for t in ts):
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors, got "
            f"{type(ts).__name__}"
        )
    tensors = _as_tensors(ts, dtype, device)
    if jagged:
        return jagged_from_tensors(tensors)
    from tl_core.nested.strided_operators import strided_from_tensors

    return strided_from_tensors(tensors, dtype)


def _convert(ts: Tensor, dtype: Any, device: Any, layout: Any) -> Tensor:
    if layout is not None and layout != ts.layout:
        raise RuntimeError(
            f"as_nested_tensor(): converting between the layouts {ts.layout} and {layout} is not supported"
        )
    return ts.to(device=device or ts.device, dtype=dtype or ts.dtype)


def _as_batch(t: Tensor, jagged: bool) -> Tensor:
    """The components t[0], t[1], ...; on the same memory if it is in one piece."""
    if not jagged:
        from tl_core.nested.strided_operators import strided_from_tensors

        return strided_from_tensors(list(t.unbind()), t.dtype)
    if t.dim() < 2:
        raise RuntimeError(
            f"as_nested_tensor(): Expected tensor argument to have dim() > 1, got shape {t.shape}"
        )
    batch, length = t.shape[:2]
    offsets = _C.arange(batch + 1, device=t.device) * length
    return as_nested(t.reshape(batch * length, *t.shape[2:]), Ragged(offsets, None, length, length), 1)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor of the layout `torch.jagged`, a view of its values.

    Args:
        values: the components one after the other along a dimension.
        offsets: where they begin, and the end of the last: one element more than there are components.
        lengths: their lengths. With `offsets`, there may be space between components.
        jagged_dim: the ragged dimension of the result, from 1 on. Default: 1.
        min_seqlen, max_seqlen: the least and the greatest length, if they are known.

    Raises:
        RuntimeError: neither `offsets` nor `lengths` are given.
        TypeError: `values` is no dense tensor.

    Example:
        >>> import tl_core as tl
        >>> x = nested_tensor_from_jagged(tl.arange(6), tl.tensor([0, 2, 6]), tl.tensor([1, 3]))
        >>> x.unbind()
        (tensor([0]), tensor([2, 3, 4]))
    """
    if not isinstance(values, Tensor) or values.is_nested:
        raise TypeError(
            f"nested_tensor_from_jagged(): argument 'values' must be a dense Tensor, got {type(values).__name__}"
        )
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = offsets_of(lengths), None
    for name, t in (("offsets", offsets), ("lengths", lengths)):
        if t is not None and (t.dim() != 1 or t.dtype not in (_C.int64, _C.int32)):
            raise RuntimeError(
                f"nested_tensor_from_jagged(): argument '{name}' must be one-dimensional and int32 or int64, got "
                f"{t.dtype} and shape {tuple(t.shape)}"
            )
    at = 1 if jagged_dim is None else jagged_dim
    if not 1 <= at <= values.dim():
        raise IndexError(
            f"nested_tensor_from_jagged(): argument 'jagged_dim' must be from 1 to {values.dim()}, got {at}"
        )
    return view_of_values(values, Ragged(offsets, lengths, min_seqlen, max_seqlen), at)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = _C.strided) -> Tensor:
    """A nested tensor of a part of each row of a dense tensor, from `start` on.

    Args:
        tensor: a dense tensor, whose first dimension is the batch.
        dim: the dimension to narrow; 1 for the layout `torch.jagged`.
        start, length: ints, or for the layout `torch.jagged` tensors with one element a row.
        layout: `torch.jagged` gives a view; `torch.strided`, the default, a copy.

    Raises:
        RuntimeError: another dimension or layout, or tensors where ints are needed.

    Example:
        >>> import tl_core as tl
        >>> x = narrow(tl.arange(6).view(2, 3), 1, 0, tl.tensor([3, 1]), layout=tl.jagged)
        >>> x.unbind()
        (tensor([0, 1, 2]), tensor([3]))
    """
    if not _check_layout("narrow", layout):
        if not isinstance(start, int) or not isinstance(length, int):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        from tl_core.nested.strided_operators import strided_from_tensors

        return strided_from_tensors(list(tensor.narrow(dim, start, length).unbind()), tensor.dtype)
    if dim != 1:
        raise RuntimeError(f"jagged layout only supports dim=1, got {dim}")
    batch, width = tensor.shape[:2]
    starts, lengths = (
        _one_a_row(name, n, batch, tensor.device) for name, n in (("start", start), ("length", length))
    )
    if (
        not tensor.is_meta
        and batch
        and bool(((starts < 0) | (lengths < 0) | (starts + lengths > width)).any())
    ):
        raise RuntimeError(f"narrow(): start + length exceeds the {width} elements of dimension 1")
    begins = _C.arange(batch, device=tensor.device) * width + starts
    end = _C.tensor([batch * width], device=tensor.device)
    offsets = _C.cat([begins, (begins[-1:] + lengths[-1:]) if batch else end * 0])
    values = tensor.reshape(batch * width, *tensor.shape[2:])
    return as_nested(values, Ragged(offsets, lengths), 1)


def _one_a_row(name: str, n: Any, batch: int, device: Any) -> Tensor:
    if isinstance(n, int):
        return _C.full((batch,), n, dtype=_C.int64, device=device)
    if n.shape != (batch,):
        raise RuntimeError(
            f"narrow(): argument '{name}' must have one element a row, {batch}, got {tuple(n.shape)}"
        )
    return n.to(device=device, dtype=_C.int64)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask is true, as a nested tensor with a component for each row of the last dimension.

    Args:
        tensor: a dense tensor.
        mask: of type bool, and broadcast with `tensor`.

    Raises:
        RuntimeError: an argument is nested.

    Example:
        >>> import tl_core as tl
        >>> x = masked_select(tl.arange(4).view(2, 2), tl.tensor([[True, False], [True, True]]))
        >>> x.unbind()
        (tensor([0]), tensor([2, 3]))
    """
    for name, t in (("tensor", tensor), ("mask", mask)):
        if t.layout is not _C.strided or t.is_nested:
            raise RuntimeError(
                f"torch.nested.masked_select requires a strided {name}, found layout {t.layout}"
            )
    shape = _C.broadcast_tensors([tensor.detach(), mask])[0].shape
    lengths = mask.expand(shape).sum(-1).reshape(-1)
    return as_nested(tensor.expand(shape).masked_select(mask), Ragged(offsets_of(lengths)), 1)
