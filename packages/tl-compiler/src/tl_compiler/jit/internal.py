"""`torch._jit_internal`: marks of library code for TorchScript, without effect in tl."""

from __future__ import annotations

import builtins
import inspect
import types
import typing
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Final

from tl_compiler.jit.decorations import (  # noqa: F401
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
    BroadcastingListCls,
    FunctionModifiers,
    export,
    ignore,
    is_scripting,
    unused,
)
from tl_core.futures import Future

__all__ = [
    "Final", "Future", "FunctionModifiers", "boolean_dispatch", "export", "ignore", "is_optional", "is_scripting",
    "is_tuple", "unused",
]  # fmt: skip


# The stated signatures of functions whose implementation no program has compiled, by module and qualified name.
_overloads: dict[str, list[Any]] = {}


def _overload(func: Any) -> Any:
    """Adds one of several signatures of the function that follows under the same name; returns it unchanged.

    Example:
        >>> @_overload
        ... def double(x: int) -> int: ...
        ...
        >>> def double(x):
        ...     return 2 * x
        ...
        >>> len(overloads_of(double))
        1
    """
    stated = _overloads.setdefault(_overload_key(func), [])
    if any(f.__code__.co_firstlineno == func.__code__.co_firstlineno for f in stated):
        stated.clear()  # the definitions run again
    stated.append(func)
    return func


_overload_method = _overload


def _overload_key(func: Any) -> str:
    return f"{func.__module__}.{func.__qualname__}"


def overloads_of(func: Any) -> list[Any]:
    """The signatures that `_overload` and `_overload_method` state for a function or method.

    Args:
        func: the implementation.

    Raises:
        RuntimeError: the function is itself one of them: the implementation is missing.
    """
    func = inspect.unwrap(getattr(func, "__func__", func))
    if not isinstance(func, types.FunctionType):
        return []
    own: list[Any] | None = vars(func).get("_script_overloads")
    if own is None:
        if func in _overloads.get(_overload_key(func), ()):
            raise RuntimeError(
                f"Function {_overload_key(func)} has overloads but no implementation: define it once more behind them"
            )
        own = _overloads.pop(_overload_key(func), [])
        func._script_overloads = own  # type: ignore[attr-defined] # functions take attributes
    return own


def _copy_to_script_wrapper(fn: Any) -> Any:
    """Marks a method that a compiled module keeps; returns the function unchanged."""
    return fn


# The arguments of `boolean_dispatch` by function.
boolean_dispatched: weakref.WeakKeyDictionary[Callable[..., Any], dict[str, Any]] = (
    weakref.WeakKeyDictionary()
)


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two others, selected by a bool argument.

    Args:
        arg_name: name of the bool argument.
        arg_index: position of the bool argument.
        default: default value of the bool argument.
        if_true: function for True.
        if_false: function for False.
        module_name: `__module__` of the new function.
        func_name: `__name__` of the new function.

    Example:
        >>> pick = boolean_dispatch("up", 0, False, lambda up: "rises", lambda up=False: "falls", "example", "pick")
        >>> pick(), pick(True)
        ('falls', 'rises')
    """

    arguments = {
        "if_true": if_true, "if_false": if_false, "index": arg_index, "default": default, "arg_name": arg_name,
    }  # fmt: skip

    def dispatching(*args: Any, **kwargs: Any) -> Any:
        flag = args[arg_index] if len(args) > arg_index else kwargs.get(arg_name, default)
        return (if_true if flag else if_false)(*args, **kwargs)

    dispatching.__doc__ = if_false.__doc__ or if_true.__doc__
    dispatching.__module__, dispatching.__name__, dispatching.__qualname__ = module_name, func_name, func_name
    boolean_dispatched[dispatching] = arguments
    return dispatching


def is_tuple(ann: Any) -> bool:
    """Whether an annotation is of a tuple."""
    return ann is tuple or typing.get_origin(ann) is tuple


def is_list(ann: Any) -> bool:
    """Whether an annotation is of a list."""
    return ann is list or typing.get_origin(ann) is list


def is_dict(ann: Any) -> bool:
    """Whether an annotation is of a dict."""
    return ann is dict or typing.get_origin(ann) is dict


def is_union(ann: Any) -> bool:
    """Whether an annotation is of several types."""
    return typing.get_origin(ann) in (typing.Union, types.UnionType)


def is_optional(ann: Any) -> bool:
    """Whether an annotation is of one type or None."""
    arguments = typing.get_args(ann)
    return is_union(ann) and len(arguments) == 2 and type(None) in arguments


def is_final(ann: Any) -> bool:
    """Whether an annotation is `Final`."""
    return ann is Final or typing.get_origin(ann) is Final


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    """The qualified name of an object; RuntimeError for an object without a name."""
    name = getattr(obj, "__name__", None)
    if name is None or name == "<lambda>":
        raise RuntimeError(f"Could not get name of python class object {obj!r}")
    return f"__torch__.{obj.__module__}.{name}" if mangle_name else f"{obj.__module__}.{name}"


def createResolutionCallbackFromFrame(frames_up: int = 0) -> Callable[[str], Any]:
    """A function that looks up a name in the scope of the caller."""
    frame: Any = inspect.currentframe()
    for _ in range(frames_up + 1):
        frame = frame.f_back
    scope = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    return scope.__getitem__


def createResolutionCallbackFromEnv(lookup_base: Any) -> Callable[[str, Any], Any]:
    """A function that looks up a dotted name in the attributes of an object."""

    def find(expression: str, loc: Any = None) -> Any:
        value = lookup_base
        for name in expression.split("."):
            value = getattr(value, name)
        return value

    return find


def get_closure(fn: Any) -> dict[str, Any]:
    """The global and captured variables of a function, by name."""
    names = fn.__code__.co_freevars
    return {
        **fn.__globals__,
        **{n: c.cell_contents for n, c in zip(names, fn.__closure__ or (), strict=True)},
    }


def createResolutionCallbackFromClosure(fn: Any) -> Callable[[str], Any]:
    """A function that looks up a name in the scope of another function; AttributeError for an unknown name."""
    scope = {**vars(builtins), **get_closure(fn)}

    def find(name: str) -> Any:
        if name not in scope:
            raise AttributeError(f"{fn.__qualname__} sees no name {name!r}")
        return scope[name]

    return find


def get_callable_argument_names(fn: Any) -> list[str]:
    """The names of a function's arguments; an empty list if it has positional-only, keyword-only or variadic ones."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    names = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    return names if len(names) == len(parameters) else []


def get_torchscript_modifier(fn: Any) -> str:
    """The mark of a function: one of `FunctionModifiers`."""
    fn = getattr(fn, "__func__", fn)
    return str(getattr(fn, "_torchscript_modifier", FunctionModifiers.DEFAULT))


def copy_torchscript_modifier(orig: Any, new: Any) -> None:
    """Copies the mark of a function to another."""
    modifier = getattr(orig, "_torchscript_modifier", None)
    if modifier is not None:
        new._torchscript_modifier = modifier


def should_drop(fn: Any) -> bool:
    """Whether the mark of a function removes it from compiled programs."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers._DROP)


def is_ignored_fn(fn: Any) -> bool:
    """Whether the mark of a function excludes it from compilation."""
    return should_drop(fn) or get_torchscript_modifier(fn) == FunctionModifiers.IGNORE


def module_has_exports(mod: Any) -> bool:
    """Whether a method of a module is marked with `export`."""
    methods = (getattr(type(mod), name, None) for name in dir(type(mod)))
    return any(get_torchscript_modifier(m) == FunctionModifiers.EXPORT for m in methods if callable(m))


def is_future(ann: Any) -> bool:
    """Whether an annotation is of a Future."""
    return ann is Future or typing.get_origin(ann) is Future


def check_empty_containers(obj: Any) -> None:
    """Warns about an empty list or dictionary, whose elements tell no type.

    Args:
        obj: the value.
    """
    if builtins.isinstance(obj, (list, dict)) and not obj:
        warnings.warn(
            "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, "
            "List[int] would become list and therefore falsely return True for List[float] or List[str].",
            stacklevel=2,
        )
