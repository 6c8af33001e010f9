"""Out tensors that functions of Python write."""

from __future__ import annotations

from collections.abc import Sequence

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["write_results"]


def _check(name: str, result: Tensor, out: Tensor, casts: bool) -> None:
    if casts and not _C.can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"{name}(): result type {result.dtype} can't be cast to the desired output type {out.dtype}"
        )
    if not casts and out.dtype is not result.dtype:
        raise RuntimeError(
            f"{name}(): Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead"
        )
    if out.device != result.device:
        raise RuntimeError(
            f"{name}(): Expected out tensor to have device {result.device}, but got {out.device} instead"
        )


def _copy(result: Tensor, out: Tensor) -> None:
    if result.layout is _C.strided and out.layout is _C.strided:
        _C.alias_copy(result, out=out)
        return
    if result.layout is not _C.strided and out.layout is not _C.strided and out.shape != result.shape:
        out.resize_as_(result)
    out.copy_(result)


def _isolate(result: Tensor, outs: Sequence[Tensor]) -> Tensor:
    """The result, or a copy of a view that shares its storage with an out tensor."""
    shared = result._is_view() and any(_C._is_alias_of(result, out) for out in outs)
    return result.clone() if shared else result


def write_results(
    name: str, results: Sequence[Tensor | None], outs: Sequence[Tensor], casts: bool = False
) -> None:
    """Copies each result into its out tensor, after all of them were checked.

    Args:
        name: the name of the function, for errors.
        results: the results; None: the out tensor stays as it is.
        outs: the out tensors, which are resized.
        casts: whether an out tensor may have another dtype, to which that of the result can be cast.

    Raises:
        RuntimeError: If there are more or fewer out tensors than results, or one has another dtype or device.

    Example:
        >>> import tl_core as tl
        >>> out = tl.empty(0)
        >>> write_results("ones", [tl.ones(2)], [out])
        >>> out
        tensor([1., 1.])
    """
    if len(outs) != len(results):
        raise RuntimeError(
            f"{name}_out expected an out= argument of size {len(results)}, got size {len(outs)}"
        )
    pairs = [(result, out) for result, out in zip(results, outs, strict=True) if result is not None]
    for result, out in pairs:
        _check(name, result, out, casts)
    # A view would change while an earlier out tensor of its storage is written.
    sources = [_isolate(result, outs) for result, _ in pairs]
    for source, (_, out) in zip(sources, pairs, strict=True):
        _copy(source, out)
