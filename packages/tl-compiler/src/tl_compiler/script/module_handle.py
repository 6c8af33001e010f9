"""The handle of a module, `module._c`, as programs for PyTorch use it."""

from __future__ import annotations

from typing import Any

from tl_nn import Module

__all__ = ["ModuleHandle", "ScriptMethod"]


def _is_program(value: Any) -> bool:
    """Whether a value is a module of a program."""
    return hasattr(type(value), "_program") and isinstance(value, Module)


class ModuleHandle:
    """A module of a program behind PyTorch's native interface: only what the program declares.

    Args:
        module: the module.
    """

    def __init__(self, module: Any) -> None:
        vars(self)["_module"] = module

    def hasattr(self, name: str) -> bool:
        """Whether the module's class declares an attribute."""
        return name in self._module._declaration.attributes

    _has_attribute = hasattr

    def getattr(self, name: str) -> Any:
        """The value of an attribute, or the handle of a part; RuntimeError for another name."""
        if not self.hasattr(name):
            raise RuntimeError(f"{self._module._declaration.name} has no attribute '{name}'")
        value = getattr(self._module, name)
        return ModuleHandle(value) if _is_program(value) else value

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute."""
        setattr(self._module, name, value)

    def __getattr__(self, name: str) -> Any:
        if self.hasattr(name):
            return self.getattr(name)
        if name in self._module._declaration.methods:
            return self._get_method(name)
        raise AttributeError(f"{self._module._declaration.name} does not have a field with name '{name}'")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._module(*args, **kwargs)

    # ---- methods
    def _has_method(self, name: str) -> bool:
        return name in self._module._declaration.methods

    def _get_method(self, name: str) -> ScriptMethod:
        """A method; RuntimeError for another name."""
        if not self._has_method(name):
            raise RuntimeError(f"Method '{name}' is not defined.")
        return ScriptMethod(self._module, name)

    def _method_names(self) -> list[str]:
        return list(self._module._declaration.methods)

    def _get_methods(self) -> list[ScriptMethod]:
        return [ScriptMethod(self._module, name) for name in self._method_names()]

    @property
    def qualified_name(self) -> str:
        """The dotted name of the module's class."""
        return str(self._module._declaration.name)

    def _type(self) -> str:
        return self.qualified_name

    @property
    def code(self) -> str:
        """The code of `forward`."""
        return self._module.code

    def dump_to_str(self, code: bool = True, attrs: bool = True, params: bool = True) -> str:
        """The class, the attributes and the code as text.

        Args:
            code: whether the code of the methods is in it.
            attrs: whether the names and types of the attributes are in it.
            params: whether the names and sizes of the parameters are in it.
        """
        lines = [f"module {self.qualified_name} {{"]
        if params:
            tensors = self._module._parameters.items()
            lines += [f"  parameter {n}: {tuple(t.shape)}" for n, t in tensors if t is not None]
        if attrs:
            lines += [f"  attribute {n}: {k}" for n, k in self._module._declaration.attributes.items()]
        for name in self._method_names() if code else ():
            lines += [f"  {line}" for line in self._module._code_of(name).splitlines()]
        parts = [p for p in self._module._modules.values() if _is_program(p)]
        for part in parts:
            text = ModuleHandle(part).dump_to_str(code, attrs, params)
            lines += [f"  {line}" for line in text.splitlines()]
        return "\n".join([*lines, "}"]) + "\n"

    # ---- archives
    def save(self, *args: Any, **kwargs: Any) -> None:
        """Writes the module as an archive."""
        self._module.save(*args, **kwargs)

    def save_to_buffer(self, *args: Any, **kwargs: Any) -> bytes:
        """The bytes of the module's archive."""
        return self._module.save_to_buffer(*args, **kwargs)


class ScriptMethod:
    """A method of a module of a program.

    Args:
        owner: the module.
        name: the name of the method.
    """

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.owner, self.name)(*args, **kwargs)

    @property
    def graph(self) -> Any:
        """The operators of the method."""
        return self.owner._graph_of(self.name)

    @property
    def inlined_graph(self) -> Any:
        """The operators of the method, with those of called methods in the place of the calls."""
        return self.owner._graph_of(self.name, inlined=True)

    @property
    def code(self) -> str:
        """The code of the method."""
        return self.owner._code_of(self.name)
