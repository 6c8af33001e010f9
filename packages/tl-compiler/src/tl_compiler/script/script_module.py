"""Modules whose methods are code of TorchScript."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any, NoReturn

from tl_nn import Module

from .classes import Declaration

__all__ = ["RecursiveScriptModule", "ScriptModule"]


class ScriptModule(Module):
    """A module whose methods are code of TorchScript, as `torch.jit.load` returns it.

    Raises:
        RuntimeError: always when called, as tl compiles nothing to TorchScript.

    Example:
        >>> issubclass(RecursiveScriptModule, ScriptModule)
        True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "tl compiles nothing to TorchScript, and so no ScriptModule; write a subclass of nn.Module"
        )


class RecursiveScriptModule(ScriptModule):
    """A module of an archive. Each class of the archive derives from this class.

    Parameters, buffers and modules inside it are those of `nn.Module`: `state_dict`, `to`, `train` and hooks work.

    Example:
        >>> issubclass(RecursiveScriptModule, Module)
        True
    """

    _declaration: Declaration
    _program: Any  # the Program, which makes classes of this one

    @property
    def original_name(self) -> str:
        """The name of the module's class in the program that wrote the archive."""
        return self._declaration.name.rpartition(".")[2]

    @property
    def code(self) -> str:
        """The code of `forward`. A RuntimeError is raised for a module that only holds parameters."""
        return self._code_of("forward")

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

    def extra_repr(self) -> str:
        """The text in the module's `repr`."""
        return f"original_name={self.original_name}"

    def save(self, f: Any, **kwargs: Any) -> NoReturn:
        """Writes the module as an archive.

        Raises:
            NotImplementedError: always. tl reads archives and doesn't write them yet.
        """
        raise NotImplementedError(
            "tl doesn't write TorchScript archives yet: save the state_dict() with tl.save, or copy the file"
        )

    def __copy__(self) -> RecursiveScriptModule:
        result = type(self).__new__(type(self))
        vars(result).update({k: v.copy() if isinstance(v, dict) else v for k, v in vars(self).items()})
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> RecursiveScriptModule:
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        vars(result).update(copy.deepcopy(vars(self), memo))
        return result

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise pickle.PickleError(
            "ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of "
            "script and non-script modules is not supported. For purely script modules use "
            "my_script_module.save(<filename>) instead."
        )
