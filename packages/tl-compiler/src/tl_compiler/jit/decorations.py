"""Decorators for TorchScript, which have almost no effect in eager code."""

import builtins
import functools
import os
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from tl_compiler.script.tracing_state import current_trace
from tl_core.base import operator_hooks

__all__ = [
    "Attribute",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "script_if_tracing",
    "script_method",
    "unused",
]


class FunctionModifiers:
    """Values of the mark of a function."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _mark(fn: Any, modifier: str) -> Any:
    """Sets the mark of a function, or of a property's getter."""
    target: Any = fn.fget if builtins.isinstance(fn, property) else fn
    target._torchscript_modifier = modifier
    return fn


def is_scripting() -> bool:
    """Whether the running code is TorchScript: False.

    Example:
        >>> from tl_compiler import jit
        >>> jit.is_scripting()
        False
    """
    return False


def is_tracing() -> bool:
    """Whether the running code is being traced by `trace`.

    Example:
        >>> from tl_compiler import jit
        >>> jit.is_tracing()
        False
    """
    return current_trace() is not None


def compiles() -> bool:
    """Whether programs are compiled: the environment variable `PYTORCH_JIT` is not 0.

    Example:
        >>> compiles()
        True
    """
    return os.environ.get("PYTORCH_JIT", "1") != "0"


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Marks a function that stays Python; `@ignore`, `@ignore()` and `@ignore(drop=True)` all work.

    Raises:
        RuntimeError: `drop` is neither a bool nor a function.

    Example:
        >>> from tl_compiler import jit
        >>> @jit.ignore
        ... def log(x):
        ...     return x
        ...
        >>> log(3)
        3
    """
    if callable(drop):
        return _mark(drop, FunctionModifiers.IGNORE)
    if not builtins.isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop!r}")
    modifier = FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE
    return lambda fn: _mark(fn, modifier)


def unused(fn: Callable) -> Callable:
    """Marks a function that compiled code never calls.

    Example:
        >>> from tl_compiler import jit
        >>> @jit.unused
        ... def double(x):
        ...     return 2 * x
        ...
        >>> double(3)
        6
    """
    return _mark(fn, FunctionModifiers.UNUSED)


def export(fn: Callable) -> Callable:
    """Marks a method that is compiled though `forward` doesn't call it.

    Example:
        >>> from tl_compiler import jit
        >>> @jit.export
        ... def double(x):
        ...     return 2 * x
        ...
        >>> double(3)
        6
    """
    return _mark(fn, FunctionModifiers.EXPORT)


def interface(obj: type) -> type:
    """Marks a class that only declares methods.

    Args:
        obj: the class, which derives from `object` or from `nn.Module` alone.

    Raises:
        RuntimeError: the class derives from another one.

    Example:
        >>> from tl_compiler import jit
        >>> @jit.interface
        ... class Layer:
        ...     def forward(self, x):
        ...         pass
        ...
        >>> Layer.__name__
        'Layer'
    """
    if builtins.isinstance(obj, type):
        plain = [base is object or base.__name__ == "Module" for base in obj.__bases__]
        if plain != [True]:
            raise RuntimeError(
                "TorchScript interface does not support inheritance yet. Please directly inherit from 'object' or "
                f"'nn.Module', got {obj.__name__} of {', '.join(base.__name__ for base in obj.__bases__)}"
            )
        obj.__torch_script_interface__ = True  # type: ignore[attr-defined]
    return obj


def script_method(fn: Callable) -> Callable:
    """Marks a method of a subclass of `ScriptModule` that is compiled.

    Example:
        >>> from tl_compiler import jit
        >>> @jit.script_method
        ... def double(x):
        ...     return 2 * x
        ...
        >>> double(3)
        6
    """
    fn._script_method = True  # type: ignore[attr-defined] # functions take attributes
    return fn


def script_if_tracing(fn: Callable) -> Callable:
    """A function that is compiled when a trace calls it, so that it keeps its control flow there.

    Example:
        >>> from tl_compiler import jit
        >>> @jit.script_if_tracing
        ... def double(x):
        ...     return 2 * x
        ...
        >>> double(3)
        6
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return fn(*args, **kwargs)
        compiled = vars(call).get("_compiled") or operator_hooks.maker("script_function")(fn)
        call._compiled = compiled  # type: ignore[attr-defined]
        return compiled(*args, **kwargs)

    call.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return call


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value; the type is for the compiler.

    Example:
        >>> annotate(list[int], [])
        []
    """
    return the_value


class Attribute(NamedTuple):
    """A value of a module and its type, for the compiler.

    Example:
        >>> from tl_compiler import jit
        >>> jit.Attribute(3, int).value
        3
    """

    value: Any
    type: Any


def _unwrap_optional(x: Any) -> Any:
    """Returns a value that isn't None; AssertionError for None."""
    assert x is not None, "Unwrapping null optional"
    return x


_BARE = {typing.List: "List", typing.Tuple: "Tuple", typing.Dict: "Dict", typing.Optional: "Optional"}  # noqa: UP006


def missing_argument_text(word: str) -> str:
    """Returns what an error says about a type that lacks the types of what it holds.

    Args:
        word: the name of the type, such as "List".

    Example:
        >>> missing_argument_text("List")
        'Attempted to use List without a contained type. Please add a contained type, e.g. List[int]'
    """
    if word == "Dict":
        return "Attempted to use Dict without contained types. Please add contained type, e.g. Dict[int, int]"
    return f"Attempted to use {word} without a contained type. Please add a contained type, e.g. {word}[int]"


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, down to the elements of lists, tuples, dictionaries and optional values.

    Args:
        obj: any object, such as a list.
        target_type: a type, `list[int]`, `dict[str, int]`, `tuple[int, str]`, `int | None`, or a tuple of such.

    Example:
        >>> isinstance([1, 2], list[int]), isinstance([1, "a"], list[int])
        (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    if builtins.isinstance(target_type, (list, set, frozenset, dict)):
        raise RuntimeError("The second argument to `torch.jit.isinstance` must be a type or a tuple of types")
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if not arguments and (word := _BARE.get(target_type)):
        raise RuntimeError(missing_argument_text(word))
    if origin is None:
        return builtins.isinstance(obj, type(None) if target_type is None else target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, each) for each in arguments)
    return builtins.isinstance(obj, origin) and _elements_are(obj, origin, arguments)


def _elements_are(obj: Any, origin: type, arguments: tuple) -> bool:
    if origin is dict:
        return all(isinstance(k, arguments[0]) and isinstance(v, arguments[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return all(isinstance(each, arguments[0]) for each in obj)


class BroadcastingListCls:
    """The annotation `BroadcastingList2[int]`: a list of fixed length, for which a caller may pass one element.

    Example:
        >>> BroadcastingList2[int] is None  # the annotation says nothing to Python
        True
    """

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1, BroadcastingList2, BroadcastingList3 = (BroadcastingListCls() for _ in range(3))
BroadcastingList4, BroadcastingList5, BroadcastingList6 = (BroadcastingListCls() for _ in range(3))
