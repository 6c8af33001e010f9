"""Fakes of sparse tensors: they store no elements, and operators run on empty sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.modes import no_modes
from tl_core.subclasses.fake_exceptions import UnsupportedOperatorException
from tl_core.subclasses.tensor_structures import map_tensors

__all__ = ["any_sparse", "call", "empty_real", "geometry", "on_empty"]

_BY_ROWS = (_C.sparse_csr, _C.sparse_bsr)


def any_sparse(tensors: list[Any]) -> bool:
    """Whether a tensor has a sparse layout.

    Args:
        tensors: the tensors.
    """
    return any(t.layout is not _C.strided for t in tensors)


def geometry(t: Tensor) -> Tensor:
    """A tensor on meta with the layout, sizes and types of a sparse tensor, which stores no elements.

    Args:
        t: the sparse tensor.
    """
    return empty_real(t, "meta")


def empty_real(t: Tensor, device: str = "cpu") -> Tensor:
    """Zeros like a tensor: of a sparse layout one that stores no elements, else one in the same strides.

    Args:
        t: a tensor, real or fake.
        device: where the zeros lie.
    """
    if t.layout is _C.strided:
        return _C.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=device).zero_()
    values = _C._unclaimed(t)._values() if _C._is_hollow(t) else t._values()
    if t.layout is _C.sparse_coo:
        indices = _C.empty(t.sparse_dim(), 0, dtype=_C.int64, device=device)
        dense = values.shape[1:]
        empty = _C.empty(0, *dense, dtype=t.dtype, device=device)
        return _C._sparse_coo_tensor(indices, empty, tuple(t.shape), t.is_coalesced())
    compressed, plain = _indices(t)
    batch = plain.dim() - 1
    offsets = _C.zeros(*compressed.shape, dtype=compressed.dtype, device=device)
    columns = _C.empty(*plain.shape[:-1], 0, dtype=plain.dtype, device=device)
    empty = _C.empty(*values.shape[:batch], 0, *values.shape[batch + 1 :], dtype=t.dtype, device=device)
    return _C._sparse_compressed_tensor(offsets, columns, empty, tuple(t.shape), t.layout)


def _indices(t: Tensor) -> tuple[Tensor, Tensor]:
    elem = _C._unclaimed(t) if _C._is_hollow(t) else t
    if elem.layout in _BY_ROWS:
        return elem.crow_indices(), elem.col_indices()
    return elem.ccol_indices(), elem.row_indices()


def call(mode: Any, func: Any, facts: Any, args: Any, kwargs: Any, device: Any) -> Any:
    """The results of an operator with sparse arguments, on meta; without a kernel for meta on zeros in memory.

    Args:
        mode: the mode of the fakes.
        func: the operator.
        facts: what is the same for each call of it.
        args: its arguments.
        kwargs: those by name.
        device: where the results lie.

    Raises:
        UnsupportedOperatorException: the operator needs zeros in memory, and the mode does not allow them.
    """
    asks_device = facts.device >= 0 and facts.device_of(args, kwargs) is not None
    meta_args, meta_kwargs = facts.with_device(args, kwargs, "meta") if asks_device else (args, kwargs)
    try:
        return _run(mode, func, meta_args, meta_kwargs, device, bool(facts.written), _C._unclaimed)
    except RuntimeError as error:  # of the kernel for meta, or one that zeros raise as well
        if not mode.allow_fallback_kernels:
            raise UnsupportedOperatorException(func) from error
    if asks_device:
        args, kwargs = facts.with_device(args, kwargs, "cpu")
    return _run(mode, func, args, kwargs, device, bool(facts.written), empty_real)


def _run(
    mode: Any, func: Any, args: Any, kwargs: Any, device: Any, writes: bool, double: Callable[[Any], Any]
) -> Any:
    """The fakes of the results for doubles of the fakes among the arguments."""
    pairs: dict[int, Any] = {}

    def record_double(t: Any) -> Any:
        other = double(t)
        pairs[id(other)] = (other, t)
        return other

    def claim(t: Any) -> Any:
        if id(t) in pairs:
            return pairs[id(t)][1]
        return mode.claim_device(_on_meta(t), device)

    with no_modes():
        out = func(*map_tensors(args, record_double), **map_tensors(kwargs, record_double))
        if writes:
            for other, fake in pairs.values():
                if other.layout is not _C.strided or other.shape != fake.shape:
                    _C._take_geometry(fake, _on_meta(other))
        return map_tensors(out, claim)


def _on_meta(t: Tensor) -> Tensor:
    if t.is_meta:
        return t
    return t.to("meta") if t.layout is _C.strided else geometry(t)


def on_empty(fake: Any, function: Callable[[Tensor], Any]) -> Any:
    """The fakes of the results of a function of one tensor, which runs on zeros in memory.

    Args:
        fake: the fake.
        function: receives the zeros.
    """
    with no_modes():
        real = empty_real(fake)
        out = function(real)
        return map_tensors(
            out, lambda t: fake if t is real else fake.fake_mode.claim_device(_on_meta(t), fake.device)
        )
