"""Regions in which calls pass some of the dispatcher's layers by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from tl_core import _C
from tl_core._C import Tensor

__all__ = [
    "all_same_mode",
    "ask_handlers",
    "ask_recorder",
    "in_transform",
    "innermost_off",
    "is_handled",
    "is_programs",
    "leaves",
    "modes_in_force",
    "modes_off",
    "no_dispatch",
    "no_modes",
    "no_transforms",
]


class _Without:
    _layer: ClassVar[int]

    def __enter__(self) -> None:
        self._before = _C._exclude_layer(self._layer, True)

    def __exit__(self, *raised: Any) -> None:
        _C._exclude_layer(self._layer, self._before)


def in_transform() -> bool:
    """Whether a function runs under a transform: `func.grad`, `vjp`, `jvp`, `vmap` or `functionalize`.

    Returns:
        True for the thread that runs the function.

    Example:
        >>> in_transform()
        False
    """
    return _C._in_transform()


class no_dispatch(_Without):
    """A region in which no `__torch_dispatch__` is asked.

    >>> with no_dispatch():
    ...     pass
    """

    _layer = _C._LAYER_PYTHON


class no_transforms(_Without):
    """A region in which the transforms of `func` around it do not see what is called."""

    _layer = _C._LAYER_TRANSFORMS


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Whether all modes are the same one.

    Args:
        modes: the modes.

    Example:
        >>> all_same_mode([1, 1]), all_same_mode([1, 2])
        (True, False)
    """
    return all(mode is modes[0] or mode == modes[0] for mode in modes)


class no_modes:
    """A region in which operators run as they are: no mode, no class and no transform sees them, nothing is recorded.

    Example:
        >>> with no_modes():
        ...     pass
    """

    _LAYERS = (_C._LAYER_TRACE, _C._LAYER_PYTHON, _C._LAYER_TRANSFORMS)
    __slots__ = ("_before", "_grad")

    def __enter__(self) -> None:
        self._before = [_C._exclude_layer(layer, True) for layer in self._LAYERS]
        self._grad = _C._set_grad_enabled(False)

    def __exit__(self, *error: object) -> None:
        _C._set_grad_enabled(self._grad)
        for layer, before in zip(self._LAYERS, self._before, strict=True):
            _C._exclude_layer(layer, before)


def modes_in_force() -> list[Any]:
    """The modes of this thread that handle operators: those above autograd first, the outermost first.

    Example:
        >>> modes_in_force()
        []
    """
    return [*_C._mode_stack(_C._LAYER_TRACE), *_C._mode_stack(_C._LAYER_PYTHON)]


def is_exporting() -> bool:
    """Whether a program is being recorded to be exported, so that this is not a run that counts.

    Example:
        >>> is_exporting()
        False
    """
    return any(getattr(mode, "exports", False) for mode in modes_in_force())


def is_compiling() -> bool:
    """Whether a program is being recorded, to be exported or for a backend of `compile`.

    Example:
        >>> is_compiling()
        False
    """
    return any(
        getattr(mode, "exports", False) or getattr(mode, "compiles", False) for mode in modes_in_force()
    )


def mode_of_fakes() -> Any:
    """The mode in force in which what is made stands for tensors, a FakeTensorMode; None without one.

    Example:
        >>> mode_of_fakes() is None
        True
    """
    for mode in _C._mode_stack(_C._LAYER_PYTHON):
        if getattr(mode, "makes_fakes", False):
            return mode
    return None


@contextmanager
def innermost_off() -> Iterator[Any]:
    """A region without the innermost of the modes in force; what it gives is that mode.

    Example:
        >>> from tl_core.subclasses.python_dispatch import TorchDispatchMode
        >>> with TorchDispatchMode(), innermost_off() as mode:
        ...     modes_in_force(), type(mode).__name__
        ([], 'TorchDispatchMode')
    """
    layer = _C._LAYER_PYTHON if _C._mode_stack(_C._LAYER_PYTHON) else _C._LAYER_TRACE
    rank = getattr(_C._mode_stack(layer)[-1], "_mode_key", None)
    mode = _C._pop_mode(layer)
    try:
        yield mode
    finally:
        _C._push_mode(layer, mode, _USERS if rank is None else int(rank))


def _handles(a: Any) -> bool:
    return (
        isinstance(a, Tensor)
        and _C._has_torch_dispatch(type(a))
        and not getattr(type(a), "handles_kernels_only", False)
    )


def is_programs(mode: Any) -> bool:
    """Whether a program has written a mode. Those of this library know its kernels, and see what these are made of.

    Args:
        mode: the mode.

    Example:
        >>> from tl_core.subclasses.python_dispatch import TorchDispatchMode
        >>> is_programs(TorchDispatchMode())
        True
    """
    return getattr(mode, "_mode_key", None) is None and not getattr(mode, "handles_kernels_only", False)


def _users_mode() -> bool:
    """Whether a program has written the innermost mode."""
    modes = modes_in_force()
    return bool(modes) and is_programs(modes[-1])


def is_handled(args: tuple[Any, ...]) -> bool:
    """Whether a mode, or a class of the arguments, handles operators here.

    Args:
        args: the arguments.

    Example:
        >>> is_handled((1, 2))
        False
    """
    return not _C._is_layer_excluded(_C._LAYER_PYTHON) and (_users_mode() or any(map(_handles, args)))


def leaves(args: Iterable[Any]) -> Iterator[Any]:
    """The arguments of an operator, and the items of those that are lists.

    Args:
        args: the arguments.

    Example:
        >>> list(leaves((1, [2, 3])))
        [1, 2, 3]
    """
    for a in args:
        if isinstance(a, (list, tuple)):
            yield from a
        else:
            yield a


def ask_handlers(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """What the innermost mode, or else a class of the arguments, makes of an operator that is no kernel.

    Args:
        func: the operator, whose call is a function of Python.
        args: its arguments.
        kwargs: those by keyword.

    Returns:
        The handler's answer; NotImplemented where nobody handles it.
    """
    handling = {type(a): a for a in leaves((*args, *(kwargs or {}).values())) if _handles(a)}
    ordered = sorted(handling, key=lambda t: -len(t.__mro__))  # subclasses before their bases
    call = func, tuple(ordered), args, kwargs or {}
    if _users_mode():
        with innermost_off() as mode:
            result = mode.__torch_dispatch__(*call)
        if result is not NotImplemented:
            return result
    for cls in ordered:
        result = handling[cls].__torch_dispatch__(*call)
        if result is not NotImplemented:
            return result
    return NotImplemented


def ask_recorder(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode makes of an operator that is no kernel, if it records such operators.

    Args:
        func: the operator, whose call is a function of Python.
        args: its arguments.
        kwargs: those by keyword.

    Returns:
        The result of the mode; NotImplemented without such a mode.

    Example:
        >>> ask_recorder(print, (), {})
        NotImplemented
    """
    modes = [] if _C._is_layer_excluded(_C._LAYER_PYTHON) else modes_in_force()
    if not modes or not getattr(modes[-1], "records_functions", False):
        return NotImplemented
    with innermost_off() as mode:
        return mode.__torch_dispatch__(func, (), args, kwargs)


_USERS = 255  # the rank of modes that programs write; the core's own stand below them


@contextmanager
def modes_off(kept: Callable[[Any], bool] = lambda mode: False) -> Iterator[list[Any]]:
    """A region without modes of `__torch_dispatch__`; what it gives is the list of those that were on, outermost first.

    Args:
        kept: gets a mode; where it is true, that mode and those around it stay on.
    """
    removed = []
    for layer in (_C._LAYER_TRACE, _C._LAYER_PYTHON):
        while (modes := _C._mode_stack(layer)) and not kept(modes[-1]):
            rank = getattr(modes[-1], "_mode_key", None)
            removed.append((layer, _C._pop_mode(layer), _USERS if rank is None else int(rank)))
    try:
        yield [mode for _, mode, _ in reversed(removed)]
    finally:
        for layer, mode, rank in reversed(removed):
            _C._push_mode(layer, mode, rank)
