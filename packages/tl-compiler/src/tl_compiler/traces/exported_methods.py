"""The methods of a traced module that `torch.jit.export` marks: they are compiled, not traced."""

from __future__ import annotations

from typing import Any

import tl_nn

from ..jit.decorations import FunctionModifiers
from ..script.program import Program

__all__ = ["ExportedMethods"]


def _export_names(kind: type[tl_nn.Module]) -> list[str]:
    """The names of the exported methods of a class, except `forward`, which is traced."""
    names = {
        name
        for base in kind.__mro__
        for name, function in vars(base).items()
        if getattr(function, "_torchscript_modifier", None) == FunctionModifiers.EXPORT
    }
    return sorted(names - {"forward"})


class ExportedMethods:
    """The exported methods of the modules of a trace, and the attributes that they may read and set.

    Args:
        program: the program of the trace.
        modules: the modules by their paths.
        names: the dotted names of their classes by their paths.
    """

    def __init__(self, program: Program, modules: dict[str, Any], names: dict[str, str]) -> None:
        self._modules = modules
        by_class = {kind: _export_names(kind) for kind in {type(m) for m in modules.values()}}
        self._methods = {path: by_class[type(module)] for path, module in modules.items()}
        self._kinds: dict[str, Any] = {}
        self._session: Any = None
        if any(self._methods.values()):
            self._start(program, names)

    def _start(self, program: Program, names: dict[str, str]) -> None:
        # Most traced modules have no exported methods: they don't pay for the compiler.
        from ..scripting.module_types import facts_of
        from ..scripting.modules import ModuleClass
        from ..scripting.session import Session

        session = self._session = Session()
        session.program = program
        program.has_new_code = True
        for path, module in self._modules.items():
            session._names_of_modules[id(module)] = module, names[path]
        for path, module in self._modules.items():
            prefix = f"{path}." if path else ""
            children = {n: names[prefix + n] for n, part in module._modules.items() if part is not None}
            kind = ModuleClass(names[path], module, facts_of(module, session), children, {})
            self._kinds[path] = session._module_classes[names[path]] = kind

    def lines(self, path: str) -> list[str]:
        """The lines of a class that declare the attributes of its module."""
        if path not in self._kinds:
            return []
        return [
            f"  {name} : {kind}"
            for name, kind in self._kinds[path].facts.attributes.items()
            if name.isidentifier()
        ]

    def attributes(self, path: str) -> dict[str, Any]:
        """The values of the attributes of a module."""
        if path not in self._kinds:
            return {}
        from ..scripting.modules import own_containers

        module = self._modules[path]
        return {
            name: own_containers(getattr(module, name))
            for name in self._kinds[path].facts.attributes
            if name.isidentifier()
        }

    def compile(self) -> None:
        """Compiles the methods, of modules whose classes the program declares."""
        for path, methods in self._methods.items():
            for name in methods:
                self._session.compile_method(self._kinds[path], name)
