"""`__torch_function__`: classes and modes that take calls over."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, Self, TypeVar

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.overridable import (
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    is_tensor_method_or_property,
    resolve_name,
)

__all__ = [
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "made_of_others",
    "overridable",
    "resolve_name",
    "wrap_torch_function",
]

_F = TypeVar("_F", bound=Callable[..., Any])

_state = threading.local()


def _pass_by(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Parameters take part in operators as plain tensors do."""
    return NotImplemented


disabled_torch_function: Any = classmethod(_pass_by)
_C._set_disabled_torch_function(disabled_torch_function)


def _modes() -> list[Any]:
    if not hasattr(_state, "modes"):
        _state.modes = []
    return _state.modes


def _all_disabled() -> bool:
    """Whether neither classes nor modes are asked."""
    return getattr(_state, "all_disabled", False)


def _asked_modes() -> list[Any]:
    return [] if _all_disabled() else _modes()


def _publish() -> None:
    """Tells the binding whether there are modes to ask."""
    _C._set_override_modes(len(_asked_modes()))


def _get_current_function_mode() -> Any:
    """The innermost mode that is on; None without one."""
    return _modes()[-1] if _modes() else None


def function_modes() -> list[Any]:
    """The modes of `__torch_function__` that are on, the outermost first.

    Example:
        >>> function_modes()
        []
    """
    return list(_modes())


_get_current_function_mode_stack = function_modes


class DisableTorchFunctionSubclass:
    """Inside, subclasses take part in operators as plain tensors do.

    Example:
        >>> import tl_core
        >>> from tl_core import overrides
        >>> class Named(tl_core.Tensor):
        ...     pass
        ...
        >>> x = tl_core.ones(2).as_subclass(Named)
        >>> with overrides.DisableTorchFunctionSubclass():
        ...     type(x + 1).__name__
        ...
        'Tensor'
    """

    def __enter__(self) -> None:
        self._before = _C._set_overrides_disabled(True)

    def __exit__(self, *error: object) -> None:
        _C._set_overrides_disabled(self._before)


class DisableTorchFunction:
    """Inside, neither subclasses nor modes are asked: all is as if tensors were plain."""

    _off = True

    def __enter__(self) -> None:
        self._before = _C._set_overrides_disabled(self._off), _all_disabled()
        _state.all_disabled = self._off
        _publish()

    def __exit__(self, *error: object) -> None:
        subclasses, _state.all_disabled = self._before
        _C._set_overrides_disabled(subclasses)
        _publish()


class _enable_torch_function(DisableTorchFunction):
    """Inside, subclasses and modes are asked again, wherever they had been left out."""

    _off = False


class _EnableTorchFunction:
    """The same from when the object is made until it is left as a region, or goes."""

    def __init__(self) -> None:
        self._region: _enable_torch_function | None = _enable_torch_function()
        self._region.__enter__()

    def __enter__(self) -> _EnableTorchFunction:
        return self

    def __exit__(self, *error: object) -> None:
        region, self._region = self._region, None
        if region is not None:
            region.__exit__()

    __del__ = __exit__


class enable_reentrant_dispatch:
    """Inside, what a `__torch_dispatch__` calls is recorded by autograd and goes through all that stands above it.

    Example:
        >>> import tl_core
        >>> from tl_core import overrides
        >>> with overrides.enable_reentrant_dispatch():
        ...     x = tl_core.ones(2) + 1
        ...
        >>> x
        tensor([2., 2.])
    """

    def __enter__(self) -> None:
        self._before = _C._reenter()

    def __exit__(self, *error: object) -> None:
        _C._leave(self._before)


def has_torch_function(relevant_args: Any) -> bool:
    """Whether one of the arguments brings an override.

    Example:
        >>> import tl_core
        >>> from tl_core import overrides
        >>> overrides.has_torch_function((tl_core.ones(1),))
        False
    """
    if not isinstance(relevant_args, (tuple, list)) and not hasattr(relevant_args, "__iter__"):
        raise TypeError(f"has_torch_function() expected a sequence, got {type(relevant_args).__name__}")
    return bool(_asked_modes()) or any(_overrides(a) for a in relevant_args)


def has_torch_function_unary(obj: Any) -> bool:
    """Whether the only argument brings an override."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether one of the arguments brings an override."""
    return has_torch_function(args)


def wrap_torch_function(dispatcher: Any) -> Any:
    """A decorator: arguments may take a call over, those that `dispatcher` returns when it is given all of them.

    Parameters:
        dispatcher : callable
            Returns an iterable of the tensors, or what is like them, among the arguments.

    Examples:
        >>> @wrap_torch_function(lambda a: (a,))
        ... def negated(a):
        ...     return -a
        >>> negated(1)
        -1
    """

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def overridable(function: _F, *, spreads: bool = False) -> _F:
    """A function of tensors whose arguments and modes may take a call over before it runs.

    Args:
        function: the function; what it takes is looked at, and what lists and tuples hold.
        spreads: whether one list or tuple behind a text stands for several arguments.

    Example:
        >>> @overridable
        ... def halved(x):
        ...     return x / 2
        >>> halved(3)
        1.5
    """
    return _C.overridable(function, spreads)


def made_of_others(function: Any) -> Any:
    """The Python code of a method of Tensor or of `nn.functional`; None of any other function.

    For classes whose `__torch_function__` knows operators only: the code calls those, and the class is asked again.
    Functions that walk the graph, as `autograd.grad` does, call none: they are given back to run with overrides off.

    Args:
        function: what `__torch_function__` was given.

    Example:
        >>> from tl_core import overrides
        >>> overrides.made_of_others(overrides.TorchFunctionMode)
    """
    if getattr(function, "__module__", None) == "tl_autograd.backward":
        return functools.partial(_with_overrides_off, function)
    if type(function) is not _C.overridable:
        return None
    code = function.__wrapped__
    if not isinstance(code, FunctionType):
        return code
    own = code.__module__.startswith("tl_core.") and "." not in code.__qualname__
    return None if own else code


def _with_overrides_off(function: Any, *args: Any, **kwargs: Any) -> Any:
    with DisableTorchFunctionSubclass():
        return function(*args, **kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether the object is a tensor or brings an override.

    Example:
        >>> import tl_core
        >>> from tl_core import overrides
        >>> overrides.is_tensor_like(tl_core.ones(1)), overrides.is_tensor_like([1.0])
        (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def _overrides(o: Any) -> bool:
    if type(o) is Tensor or _C._overrides_disabled():
        return False
    handler = getattr(type(o), "__torch_function__", None)
    return handler is not None and getattr(handler, "__func__", None) is not disabled_torch_function.__func__


def _arguments(args: Any, kwargs: Any) -> Any:
    for a in (*args, *kwargs.values()):
        yield a
        if isinstance(a, (list, tuple)):
            yield from a


def _overloaded_args(candidates: Any) -> list[Any]:
    """One argument a type, subclasses before their bases, otherwise from left to right."""
    result: list[Any] = []
    for a in candidates:
        if not _overrides(a) or any(type(a) is type(f) for f in result):
            continue
        at = next((i for i, f in enumerate(result) if issubclass(type(a), type(f))), len(result))
        result.insert(at, a)
    return result


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Asks the innermost mode, then the overriding arguments; TypeError if all decline.

    Args:
        public_api: the function that was called.
        relevant_args: the arguments that may override it.
        args: all positional arguments.
        kwargs: all keyword arguments.

    Example:
        >>> from tl_core import overrides
        >>> class Meters:
        ...     def __init__(self, value):
        ...         self.value = value
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         return cls(func(*(a.value for a in args)))
        ...
        >>> def double(x):
        ...     if overrides.has_torch_function((x,)):
        ...         return overrides.handle_torch_function(double, (x,), x)
        ...     return 2 * x
        ...
        >>> double(Meters(3)).value
        6
    """
    overloaded = _overloaded_args(relevant_args)
    types = tuple(type(a) for a in overloaded)
    modes = _asked_modes()
    if modes:
        with _popped(modes) as mode:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for a in overloaded:
        result = _ask(a, public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not overloaded:
        return public_api(*args, **kwargs)
    raise _no_implementation(public_api, types)


def _ask(argument: Any, function: Any, types: tuple[type, ...], args: Any, kwargs: Any) -> Any:
    method = argument.__torch_function__
    if getattr(method, "__self__", None) is argument:
        warnings.warn(
            "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please "
            "define it as a classmethod.",
            DeprecationWarning if type(function) is _C.overridable else UserWarning,
            stacklevel=2,
        )
    return method(function, types, args, kwargs)


def _no_implementation(public_api: Any, types: tuple[type, ...]) -> TypeError:
    name = getattr(public_api, "__qualname__", public_api)
    return TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{[t.__name__ for t in types]}"
    )


class _popped:
    """The innermost mode, off while its own handler runs."""

    def __init__(self, modes: list[Any]) -> None:
        self.modes = modes

    def __enter__(self) -> Any:
        self.mode = self.modes.pop()
        _publish()
        return self.mode

    def __exit__(self, *error: object) -> None:
        self.modes.append(self.mode)
        _publish()


class TorchFunctionMode:
    """A context in which `__torch_function__` of the mode sees every call.

    Example:
        >>> import tl_core
        >>> from tl_core import overrides
        >>> class Log(overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        ...
        >>> with Log():
        ...     x = tl_core.add(tl_core.ones(1), 1)
        ...
        ones
        add
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        if isinstance(getattr(self.__torch_function__, "__self__", None), type):
            raise RuntimeError(
                "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain "
                "method"
            )
        _modes().append(self)
        _publish()
        return self

    def __exit__(self, *error: object) -> None:
        _modes().pop()
        _publish()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that leaves calls as they are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


_NEVER_OVERRIDE = frozenset({Tensor, int, float, bool, complex, str, type(None), _C.dtype, _C.device})


def _only_one(args: Any) -> Any:
    """The argument that overrides, if there are such of one class only, and no list to be looked into; else None."""
    only = argument = None
    for a in args:
        kind = type(a)
        if kind is only or kind in _NEVER_OVERRIDE:
            continue
        if only is not None or kind is list or kind is tuple or not _overrides(a):
            return None
        only, argument = kind, a
    return argument


def _dispatch(function: Any, args: Any, kwargs: Any) -> Any:
    """What the binding calls when an argument or a mode takes a call over."""
    if not kwargs and not _modes() and (only := _only_one(args)) is not None:
        result = _ask(only, function, (type(only),), args, kwargs)  # the common case, quickly
        if result is NotImplemented:
            raise _no_implementation(function, (type(only),))
        return result
    return handle_torch_function(function, list(_arguments(args, kwargs)), *args, **kwargs)


_C._set_override_handler(_dispatch)


def _default_torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What Tensor does for its subclasses: runs the function on plain tensors, gives the results the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    if getattr(func, "__name__", "") == "__get__" and func in get_default_nowrap_functions():
        return result
    return _convert(result, cls)


def get_default_nowrap_functions() -> frozenset[Any]:
    """Functions whose results `Tensor.__torch_function__` hands on as they are: other tensors, not new ones.

    Example:
        >>> import tl_core
        >>> from tl_core import overrides
        >>> tl_core.Tensor.grad.__get__ in overrides.get_default_nowrap_functions()
        True
    """
    return frozenset(
        getattr(Tensor, name).__get__ for name in ("_base", "grad", "_grad") if hasattr(Tensor, name)
    )


def _convert(result: Any, cls: Any) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)) and any(isinstance(r, Tensor) for r in result):
        return type(result)([_convert(r, cls) for r in result])
    return result


Tensor.__torch_function__ = classmethod(_default_torch_function)  # type: ignore[method-assign, assignment]


def _init_subclass(cls: Any, **kwargs: Any) -> None:
    """A class that handles operators itself is not asked above them, too, unless it says so."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    inherited = "__torch_function__" not in vars(cls) and (
        getattr(cls.__torch_function__, "__func__", None) is _default_torch_function
    )
    if inherited and _C._has_torch_dispatch(cls):
        cls.__torch_function__ = disabled_torch_function


Tensor.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment]
