"""Modules whose methods are code of TorchScript."""

from __future__ import annotations

import copy
import io
import pickle
import re
from typing import Any, NoReturn

from tl_core.base import operator_hooks
from tl_nn import Module

from .classes import Declaration
from .graph_text import Graph
from .module_handle import ModuleHandle
from .types import Type

__all__ = ["RecursiveScriptModule", "ScriptModule", "TopLevelTracedModule", "TracedModule", "is_compiled"]


class _CompilesInstances(type):
    """The class of `ScriptModule`: a call of a subclass compiles the object that its `__init__` has filled."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        result = super().__call__(*args, **kwargs)
        if not is_compiled(result):
            operator_hooks.maker("compile_in_place")(result)
        return result


class ScriptModule(Module, metaclass=_CompilesInstances):
    """A module whose methods are code of TorchScript, as `script`, `trace` and `load` return it.

    Parameters, buffers and modules inside it are those of `nn.Module`: `state_dict`, `to`, `train` and hooks work.
    A subclass marks the methods that are compiled by `script_method`, or states them as texts by `define`. They are
    compiled when `__init__` has ended. Programs in modules of `nn` and `script` are the newer way.

    Example:
        >>> class Shift(ScriptModule):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.define("def forward(self, x):\\n    return x + 1")
        ...
        >>> import tl_core
        >>> Shift()(tl_core.ones(2))
        tensor([2., 2.])
    """

    _declaration: Declaration
    _program: Any  # the Program, which makes classes of this one

    def define(self, src: str) -> None:
        """Adds methods that a text defines, as functions whose first argument is the module.

        Args:
            src: the text.

        Raises:
            RuntimeError: the text can't be compiled, or the module comes from `script`, `trace` or `load`.
        """
        texts = vars(self).get("_method_texts", [])
        own: Any = getattr(type(self), "_written_class", None)
        if is_compiled(self) and own is None:
            raise RuntimeError(
                f"define(): {self.original_name} comes from a program, which takes no further methods. Subclass "
                "ScriptModule, or write the method in the module that is scripted."
            )
        object.__setattr__(self, "_method_texts", [*texts, src])
        if is_compiled(self):
            self.__class__ = own
            operator_hooks.maker("compile_in_place")(self)

    @property
    def _c(self) -> Any:
        """The handle of the module, which PyTorch's native functions take."""
        return vars(self).get("_replaced_handle") or ModuleHandle(self)

    @_c.setter
    def _c(self, handle: Any) -> None:
        vars(self)["_replaced_handle"] = handle

    @property
    def original_name(self) -> str:
        """The name of the module's class in the program that wrote the archive."""
        return self._declaration.name.rpartition(".")[2]

    @property
    def code(self) -> str:
        """The code of `forward`. A RuntimeError is raised for a module that only holds parameters."""
        return self._code_of("forward")

    @property
    def graph(self) -> Graph:
        """The operators of `forward`. Methods of submodules are calls in it."""
        return self._graph_of("forward")

    @property
    def inlined_graph(self) -> Graph:
        """The operators of `forward`, with those of called methods and functions in the place of the calls."""
        return self._graph_of("forward", inlined=True)

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The operators of `forward`. They are the same for all arguments, as tl doesn't specialize graphs."""
        return self.graph

    def _graph_of(self, name: str, inlined: bool = False) -> Graph:
        if name not in self._declaration.methods:
            raise RuntimeError(f"Method '{name}' is not defined.")
        module = self._declaration.name
        node = self._declaration.methods[name]
        return Graph(self._program, node, Type(module), inlined or self._program.is_frozen)

    @property
    def code_with_constants(self) -> tuple[str, dict[str, Any]]:
        """The code of `forward` and the constants that it names."""
        constants = {f"c{i}": value for i, value in enumerate(self._program.constants)}
        names = re.findall(r"CONSTANTS\.(c\d+)", self.code)
        return self.code, {name: constants[name] for name in names}

    def _code_of(self, name: str) -> str:
        module = self._declaration.name
        if name not in self._declaration.methods:
            raise RuntimeError(f"Method '{name}' is not defined.")
        head, body = self._program.method_text(module, name)
        signature = re.sub(r"\((\w+): __torch__[\w.]*", r"(\1", head.removeprefix("  "), count=1)
        return signature + "".join(line.removeprefix("  ") for line in body.splitlines(keepends=True)) + "\n"

    def forward_magic_method(self, method_name: str, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of the module's code.

        Raises:
            NotImplementedError: the code has no such method.
        """
        if method_name not in self._declaration.methods:
            raise NotImplementedError
        return self._program.method(self._declaration.name, method_name)(self, *args, **kwargs)

    def __dir__(self) -> list[str]:
        python = vars(self).get("_python_class")
        return sorted({*super().__dir__(), *(dir(python) if python is not None else ())})

    def extra_repr(self) -> str:
        """The text in the module's `repr`."""
        return f"original_name={self.original_name}"

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Writes the module as an archive, which PyTorch reads as well.

        Args:
            f: a path, or an object with `write`.
            _extra_files: texts or bytes by name that the archive holds besides.

        Raises:
            RuntimeError: the program calls a function that stays Python, or holds a value that no archive can hold.
        """
        operator_hooks.maker("write_program")(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:
        """Returns the bytes of the module's archive."""
        buffer = io.BytesIO()
        self.save(buffer, _extra_files)
        return buffer.getvalue()

    def __copy__(self) -> ScriptModule:
        result = type(self).__new__(type(self))
        vars(result).update({k: v.copy() if isinstance(v, dict) else v for k, v in vars(self).items()})
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptModule:
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        vars(result).update(copy.deepcopy(vars(self), memo))
        return result

    def __reduce_package__(self, exporter: Any) -> Any:
        return exporter._reduce_script_module(self)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise pickle.PickleError(
            "ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of "
            "script and non-script modules is not supported. For purely script modules use "
            "my_script_module.save(<filename>) instead."
        )


def is_compiled(module: Any) -> bool:
    """Whether a module belongs to a program: it is no object of a subclass whose `__init__` still runs.

    Args:
        module: the module.

    Example:
        >>> is_compiled(Module()), is_compiled(ScriptModule())
        (False, True)
    """
    return hasattr(type(module), "_program")


class RecursiveScriptModule(ScriptModule):
    """A module of a program. Each class of the program derives from this class.

    Example:
        >>> issubclass(RecursiveScriptModule, Module)
        True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} can't be made by a call: torch.jit.script compiles a subclass of nn.Module"
        )


def _item(self: Any, key: Any) -> Any:
    """The module at an index, or those of a slice as a list."""
    return list(self._modules.values())[key]


_SEQUENCE = {
    "__len__": lambda self: len(self._modules), "__iter__": lambda self: iter(self._modules.values()),
    "__getitem__": _item, "__bool__": lambda self: True,
}  # fmt: skip
_MAPPING = {
    "__len__": lambda self: len(self._modules), "__iter__": lambda self: iter(self._modules),
    "__getitem__": lambda self, key: self._modules[key], "__contains__": lambda self, key: key in self._modules,
    "keys": lambda self: self._modules.keys(), "values": lambda self: self._modules.values(),
    "items": lambda self: self._modules.items(), "__bool__": lambda self: True,
}  # fmt: skip


def container_methods(name: str) -> dict[str, Any]:
    """Returns the methods by which Python reads the modules in a container of a program.

    Args:
        name: the name of the container's class.

    Example:
        >>> sorted(container_methods("ModuleList"))[-2:]
        ['__iter__', '__len__']
    """
    if name in ("Sequential", "ModuleList"):
        return dict(_SEQUENCE)
    return dict(_MAPPING) if name == "ModuleDict" else {}


class TracedModule(RecursiveScriptModule):
    """A part of a traced module.

    Example:
        >>> issubclass(TracedModule, ScriptModule)
        True
    """

    def _get_name(self) -> str:
        return self.original_name


class TopLevelTracedModule(TracedModule):
    """A module compiled by tracing, as `trace` returns it.

    Example:
        >>> issubclass(TopLevelTracedModule, TracedModule)
        True
    """
