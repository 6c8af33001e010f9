"""`torch.jit.script`: functions, modules and classes of Python become programs."""

from __future__ import annotations

import copy
import inspect
import sys
import textwrap
from typing import Any

import tl_nn

from ..script.containers import ScriptDict, ScriptList
from ..script.script_function import ScriptFunction
from ..script.script_module import ScriptModule
from .annotations import UnknownType
from .session import Session

__all__ = ["compile_in_place", "script", "script_class", "script_function", "script_module"]


def script_function(function: Any, caller_names: dict[str, Any] | None = None) -> ScriptFunction:
    """Returns the compiled form of a function.

    Raises:
        RuntimeError: the function can't be compiled. The message points into its source.
    """
    session = Session(caller_names)
    name = session.compile_function(function)
    return ScriptFunction(session.program, name, function)


def script_text(text: str) -> dict[str, ScriptFunction]:
    """Returns the functions that a text defines, compile_now, by name.

    Raises:
        RuntimeError: the text can't be compiled.
    """
    session = Session()
    return {
        name: ScriptFunction(session.program, qualified)
        for name, qualified in session.compile_text(textwrap.dedent(text)).items()
    }


def script_module(module: tl_nn.Module, caller_names: dict[str, Any] | None = None) -> Any:
    """Returns the compiled form of a module, which shares the module's tensors.

    Raises:
        RuntimeError: a method can't be compiled.
    """
    session = Session(caller_names)
    session.compile_module(module)
    return session.build_module(module)


def compile_in_place(module: Any) -> None:
    """Compiles an object of a subclass of `ScriptModule`, whose `__init__` has ended.

    Raises:
        RuntimeError: a method can't be compiled.
    """
    Session().compile_in_place(module)


def script_class(kind: type, caller_names: dict[str, Any] | None = None) -> type:
    """Compiles a class, so that an error in it is raised now, and returns it. Programs make objects of it."""
    Session(caller_names).compile_class(kind)
    kind.__torch_script_class__ = True  # type: ignore[attr-defined]  # a flag
    return kind


def _imports(obj: Any) -> bool:
    """Whether the module that defines a function or class is being imported: a decorator runs."""
    module = sys.modules.get(getattr(obj, "__module__", None) or "")
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _defer(function: Any) -> ScriptFunction:
    """A function that is compiled when it is first needed."""

    def compile_now() -> tuple[Any, str]:
        session = Session()
        return session.program, session.compile_function(function)

    return ScriptFunction(compile_now, "", function)


def script(obj: Any, caller_names: dict[str, Any] | None = None) -> Any:
    """Returns the compiled form of a function, module or class. `tl_compiler.jit.script` describes the errors."""
    if isinstance(obj, (ScriptModule, ScriptFunction)):
        return obj
    if callable(getattr(obj, "__prepare_scriptable__", None)) or isinstance(obj, tl_nn.Module):
        obj = _prepare(obj, {})
    if isinstance(obj, tl_nn.Module):
        return script_module(obj, caller_names)
    if inspect.isclass(obj):
        if issubclass(obj, tl_nn.Module):
            raise RuntimeError(
                f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an "
                "instance instead"
            )
        if _imports(obj):
            obj.__torch_script_class__ = True  # type: ignore[attr-defined]  # a flag
            return obj
        return script_class(obj, caller_names)
    if inspect.isfunction(obj) or inspect.ismethod(obj):
        return _defer(obj) if _imports(obj) else script_function(obj, caller_names)
    if isinstance(obj, (list, dict)):
        return shared_container(obj)
    _check_callable(obj, caller_names)
    raise TypeError(f"torch.jit.script takes a function, module, class, list or dictionary, got {type(obj)}")


def _check_callable(obj: Any, caller_names: dict[str, Any] | None) -> None:
    """Raises the error of a class whose object is compiled: that is more telling than the one of the object."""
    if callable(obj) and type(obj).__module__ != "builtins":
        Session(caller_names).compile_class(type(obj))


def _prepare(obj: Any, results: dict[int, Any]) -> Any:
    """What an object's `__prepare_scriptable__` returns, and the same of its parts; a copy where a part differs."""
    if id(obj) in results:
        return results[id(obj)]
    result = obj
    if not isinstance(obj, type) and callable(getattr(obj, "__prepare_scriptable__", None)):
        result = obj.__prepare_scriptable__()
    results[id(obj)] = result
    if not isinstance(result, tl_nn.Module) or isinstance(result, ScriptModule):
        return result
    if "_modules" not in vars(result):
        raise RuntimeError(
            f"'{type(result).__name__}' has not been initialized, did you forget to call 'super()'?"
        )
    parts = {name: _prepare(part, results) for name, part in result._modules.items()}
    if any(parts[name] is not part for name, part in result._modules.items()):
        result = results[id(obj)] = copy.copy(result)
        vars(result)["_modules"] = parts
    return result


def shared_container(value: Any) -> ScriptList | ScriptDict:
    """Returns a list or dictionary that programs take as it is, with elements of one type.

    Raises:
        RuntimeError: the elements differ in type, or there are none to tell the type.
    """
    if isinstance(value, (ScriptList, ScriptDict)):
        return value
    session = Session()
    try:
        kind = session.value_type(value)
    except UnknownType as error:
        raise RuntimeError(f"torch.jit.script: the type of the container isn't known: {error}") from error
    if not value:
        raise RuntimeError("torch.jit.script: an empty container does not tell the type of its elements")

    def check(*values: Any) -> None:
        for element, expected in zip(values, kind.arguments, strict=True):
            actual = session.value_type(element)
            if actual != expected:
                raise TypeError(f"the container holds values of type {expected}, got {actual}")

    return ScriptList(value, check) if isinstance(value, list) else ScriptDict(value, check)
