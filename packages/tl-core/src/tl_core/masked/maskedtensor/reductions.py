"""Reductions of masked tensors: elements that do not count are passed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core.masked import operations
from tl_core.masked.maskedtensor.core import HANDLERS, MaskedTensor, as_masked, densify, plain

__all__: list[str] = []

REDUCE_NAMES = ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]


def _any(mask: Any, dim: Any, keepdim: bool) -> Any:
    """Where at least one element counts."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return mask.any().reshape((1,) * mask.dim()) if keepdim else mask.any()
    return mask.sum(dim, keepdim) > 0


def _of(name: str, call: Callable[..., Any]) -> None:
    """`call(data, mask, dim, keepdim, **more)` reduces."""

    @HANDLERS.rule(name)
    def reduction(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
        self, dim, keepdim, more = _arguments(name, *args, **kwargs)
        dense = densify(self)
        mask = dense._masked_mask
        result = call(plain(dense), mask, dim, keepdim, **more)
        return as_masked(result, _any(mask, dim, keepdim))


def _arguments(name: str, self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool, dict[str, Any]]:
    """The arguments of any reduction; var and std have one more in the middle, norm one in front."""
    names = ["dim", "keepdim", "dtype"]
    if name in ("var", "std"):
        names = ["dim", "unbiased", "keepdim"]
        if args and isinstance(args[0], bool):
            names = ["unbiased", "dim", "keepdim"]
    elif name == "norm":
        names = ["p", *names]
    arguments = dict(zip(names, args, strict=False)) | kwargs
    if "axis" in arguments:
        arguments["dim"] = arguments.pop("axis")
    if arguments.get("dtype", 0) is None:
        del arguments["dtype"]
    return self, arguments.pop("dim", None), bool(arguments.pop("keepdim", False)), arguments


def _plain_reduction(name: str) -> None:
    function = getattr(operations, name)

    def call(data: Any, mask: Any, dim: Any, keepdim: bool, **more: Any) -> Any:
        return function(data, dim, keepdim=keepdim, mask=mask, **more)

    _of(name, call)


for _name in ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "var", "std"):
    _plain_reduction(_name)


def _all(data: Any, mask: Any, dim: Any, keepdim: bool) -> Any:
    filled = _C.where(mask, data != 0, True)
    return filled.all() if dim is None else filled.all(dim, keepdim)


def _norm(data: Any, mask: Any, dim: Any, keepdim: bool, p: Any = 2, **more: Any) -> Any:
    return operations.norm(
        data, 2.0 if p in ("fro", None) else float(p), dim, keepdim=keepdim, mask=mask, **more
    )


_of("all", _all)
_of("norm", _norm)


def _softmax(name: str) -> None:
    function = getattr(operations, name)

    @HANDLERS.rule(name)
    def handler(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
        self, dim, _keepdim, more = _arguments(name, *args, **kwargs)
        return as_masked(function(plain(self), dim, mask=self._masked_mask, **more), self._masked_mask)


_softmax("softmax")
_softmax("log_softmax")
