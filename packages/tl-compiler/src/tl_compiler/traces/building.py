"""A traced module as a module of a program: its tree, its tensors, and the methods that the trace recorded."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import tl_core
import tl_nn

from ..fx.node import Node
from ..script.linking import absorb
from ..script.program import Program
from ..script.script_module import ScriptModule
from ..script.sources import Sources, program_name
from ..script.types import Type
from .code import Methods, type_of_example
from .exported_methods import ExportedMethods
from .recording import Recording

__all__ = ["TracedProgram", "argument_names"]

Tensor = tl_core.Tensor


class TracedProgram:
    """The program of a traced module or function.

    Args:
        module: the module; for a function, an empty one.
        base: returns the class of a module in Python by its path.
    """

    def __init__(self, module: tl_nn.Module, base: Callable[[str], type]) -> None:
        self.program = Program(Sources(is_own=True))
        self.module, self._base = module, base
        self._exports: Any = None
        self._names: dict[str, str] = {}  # of classes by the path
        self._extra: dict[str, list[str]] = {}  # tensors that are plain attributes, by the path of the module

    # ---- classes
    def declare(self, recordings: list[Recording]) -> None:
        """Declares the class of each module. Tensors that the runs read as attributes are attributes."""
        for recording in recordings:
            for path in recording.attributes.values():
                owner, _, name = path.rpartition(".")
                module = self.module.get_submodule(owner)
                previous = {*module._parameters, *module._buffers}
                if name not in previous and name not in self._extra.setdefault(owner, []):
                    self._extra[owner].append(name)
        modules = dict(self.module.named_modules(remove_duplicate=False))
        for path, module in modules.items():
            self._names[path] = self._name_of(module)
        own = {path: module for path, module in modules.items() if not isinstance(module, ScriptModule)}
        self._exports = ExportedMethods(self.program, own, self._names)
        for path, module in own.items():
            self._declare(path, module)
        self._exports.compile()

    def _name_of(self, module: Any) -> str:
        if isinstance(module, ScriptModule):
            kind: Any = type(module)
            return absorb(self.program, kind._program, kind._declaration.name)
        name, number = program_name(type(module)), 0
        occupied = set(self._names.values())
        free = name
        while free in occupied or self.program.archive.definition(free) is not None:
            owner, _, own = name.rpartition(".")
            free, number = f"{owner}.___torch_mangle_{number}.{own}", number + 1
        return free

    def _declare(self, path: str, module: tl_nn.Module) -> None:
        name = self._names[path]
        parameters, buffers = list(module._parameters), list(module._buffers)
        extra = self._extra.get(path, [])
        lines = [f"class {name.rpartition('.')[2]}(Module):"]
        lines.append(f"  __parameters__ = [{''.join(f'{p!r}, ' for p in parameters)}]")
        lines.append(f"  __buffers__ = [{''.join(f'{b!r}, ' for b in buffers)}]")
        for tensor in (*parameters, *buffers, *extra):
            value = getattr(module, tensor)
            lines.append(f"  {tensor} : {'Tensor' if value is not None else 'NoneType'}")
        lines += ["  training : bool", "  _is_full_backward_hook : Optional[bool]"]
        lines += self._exports.lines(path)
        for child, value in module._modules.items():
            if value is None:  # the run doesn't call it
                continue
            kind = self._names[f"{path}.{child}" if path else child]
            plain = child.isidentifier()
            lines.append(f"  {child} : {kind}" if plain else f'  __annotations__["{child}"] = {kind}')
        self.program.archive.add(name, "\n".join(lines) + "\n")
        self.program.bases[name] = self._base(path)

    # ---- methods
    def add_method(self, recording: Recording, name: str, parameters: list[str], inputs: Any) -> None:
        """Adds the methods of a run.

        Args:
            recording: the run.
            name: the name of the method of the traced module.
            parameters: the names of its arguments.
            inputs: the examples by position and by name.
        """
        methods = Methods(recording, self.program, self._names)
        methods.root(*_signature(recording, parameters, inputs), name, owner=True)
        for path, text in methods.texts:
            node = self.program.archive.add_method(self._names[path], text)
            declaration = self.program.declaration(self._names[path])
            assert declaration is not None
            declaration.methods[node.name] = node

    def add_function(self, recording: Recording, name: str, parameters: list[str], inputs: Any) -> str:
        """Adds the function of a run, and returns its dotted name."""
        methods = Methods(recording, self.program, self._names)
        methods.root(*_signature(recording, parameters, inputs), name.rpartition(".")[2], owner=False)
        self.program.archive.add(name, methods.texts[-1][1])
        return name

    # ---- objects
    def build(self) -> Any:
        """Returns the traced module: its parts share the tensors of the module."""
        return self._build("", self.module, {})

    def _build(self, path: str, module: Any, built: dict[int, Any]) -> Any:
        if isinstance(module, ScriptModule):
            return module
        if id(module) in built:
            return built[id(module)]
        kind = self.program.class_of(self._names[path])
        result: Any = object.__new__(kind)
        tl_nn.Module.__init__(result)
        built[id(module)] = result
        result._parameters.update(module._parameters)
        result._buffers.update(module._buffers)
        result._non_persistent_buffers_set = set(module._non_persistent_buffers_set)
        for name in self._extra.get(path, []):
            vars(result)[name] = getattr(module, name)
        vars(result).update(training=module.training, _is_full_backward_hook=None)
        vars(result).update(self._exports.attributes(path))
        for child, value in module._modules.items():
            if value is None:
                continue
            inner = f"{path}.{child}" if path else child
            result._modules[child] = self._build(inner, value, built)
        return result


def _signature(
    recording: Recording, parameters: list[str], inputs: Any
) -> tuple[list[str], dict[Node, str], list[str]]:
    """The arguments of a method, the names of the run's inputs, and the lines that take containers apart."""
    positional, keywords = inputs
    arguments: list[str] = []
    names: dict[Node, str] = {}
    lines: list[str] = []
    nodes = iter(recording.inputs)
    for name, value in [*zip(parameters, positional, strict=False), *keywords.items()]:
        kind = type_of_example(value)
        arguments.append(f"{name}: {kind}")
        _take_apart(value, kind, name, nodes, names, lines)
    return arguments, names, lines


def _take_apart(
    value: Any, kind: Type, text: str, nodes: Any, names: dict[Node, str], lines: list[str]
) -> None:
    if isinstance(value, Tensor):
        node = next(nodes)
        if text.isidentifier():
            names[node] = text
        else:
            names[node] = node.name
            lines.append(f"{node.name} = {text}")
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        _take_apart(
            item,
            kind,
            f"{text}[{key!r}]" if text.isidentifier() else f"({text})[{key!r}]",
            nodes,
            names,
            lines,
        )


def argument_names(function: Any, count: int) -> list[str]:
    """Returns the names of the first arguments of a function.

    Example:
        >>> argument_names(lambda x, *rest: x, 3)
        ['x', 'rest', 'argument_2']
    """
    try:
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_KEYWORD]
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters][:count]
    return [*names, *(f"argument_{i}" for i in range(len(names), count))]
