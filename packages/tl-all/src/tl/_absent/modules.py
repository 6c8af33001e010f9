"""Imports of absent modules: `import torch.x.y`, `from torch.x.y import name`.

The machinery stores a loaded module in `sys.modules` and in its parent. A stand-in is removed at once, so the next
`try: import torch.x.y` fails.
"""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from tl._absent import frames, names, stand_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load_absent(fullname: str) -> ModuleSpec | None:
    """The spec of a stand-in for a module that a statement imports; None if the statement must fail."""
    if not names.is_module(fullname):
        return None
    frame = frames.importing(sys._getframe(1))
    if frame is None or frames.instruction(frame)[0] != frames.IMPORT_NAME:
        return None
    target = frames.statement(frame)
    if target is None or not f"{target[0]}.".startswith(f"{fullname}."):
        return None
    if not (names.is_module(target[0]) and frames.may_stand_in(frame)):
        return None
    module, is_from = target
    if fullname == module and not is_from:
        stand_in.record_import(module, frame.f_code.co_filename, frame.f_lineno)
        stand_in.plain_imports.setdefault(frame.f_code.co_filename, set()).update(_prefixes(module))
    spec = ModuleSpec(fullname, _Loader(module))  # type: ignore[arg-type]
    _watch_parent(fullname)
    return spec


def _prefixes(module: str) -> "set[str]":
    parts = module.split(".")
    every = (".".join(parts[:count]) for count in range(2, len(parts) + 1))
    return {name for name in every if names.is_module(name)}


class _Loader:
    """The loader of the stand-in for a module."""

    def __init__(self, target: str):
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: ModuleType = stand_in.of(spec.name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def _watch_parent(fullname: str) -> None:
    parent = sys.modules[fullname.rpartition(".")[0]]
    kind = type(parent)
    if not issubclass(kind, _Parent):
        parent.__class__ = type(kind.__name__, (_Parent, kind), {})


class _Parent(ModuleType):
    """The parent of absent modules. It removes a stand-in from `sys.modules` instead of storing it as an attribute."""

    def __setattr__(self, name: str, value: "Any") -> None:
        if not isinstance(value, stand_in.AbsentModule):
            return super().__setattr__(name, value)
        spec = value.__spec__
        if spec is not None and getattr(spec.loader, "target", "") == spec.name:
            dotted = spec.name
            while isinstance(sys.modules.get(dotted), stand_in.AbsentModule):
                sys.modules.pop(dotted, None)
                dotted = dotted.rpartition(".")[0]
        return None
