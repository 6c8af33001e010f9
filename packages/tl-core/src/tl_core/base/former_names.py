"""Modules that pickles name and that no file has: former modules, and the namespaces of the native module.

A pickle of plain Python names a function by its module. A move of such a function adds a line to the tables
here, and `tests/pickled_names.txt` of tl-all lists the names that pickles hold. A native function such as
`linalg_det` names its namespace, `tl_core._linalg`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tl_core import _C
from tl_core.base.name_table import NATIVE_NAMESPACES

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

__all__ = ["MOVED_MODULES", "MOVED_NAMES", "attributes_of", "serve"]

# Former modules that plain pickles name, each with the present module of its names.
MOVED_MODULES = {
    "tl_core._size": "tl_core.tensors.size",
    "tl_core._tensor": "tl_core.api.tensor_pickling",
    "tl_core.ops": "tl_core.operators.packets",
    "tl_core.parameter": "tl_core.tensors.parameter",
    "tl_core.return_types": "tl_core.base.return_types",
    "tl_core.typed_storage": "tl_core.memory.typed_storage",
    "tl_core.untyped_storage": "tl_core.memory.untyped_storage",
    "tl_nn.modules.persistent": "tl_nn.modules.state_dict",
}

# Modules that some names of plain pickles have left: the present module of each name.
MOVED_NAMES = {
    "tl_core.api.tensor_methods": dict.fromkeys(
        ("_rebuild_from_type", "_rebuild_sparse_tensor", "_rebuild_tensor", "_rebuild_tensor_v2"),
        "tl_core.api.tensor_pickling",
    ),
    "tl_core.storage": dict.fromkeys(("_from_bytes", "_without_memory"), "tl_core.memory.untyped_storage"),
    "tl_core.subclasses.fake_tensor": {"_rebuild": "tl_core.subclasses.fake_mode"},
    "tl_quantization.observer": {"_Partial": "tl_quantization.observer_base"},
    "tl_quantization.quantizer": dict.fromkeys(
        ("PerChannel", "PerTensor"), "tl_quantization.tensor_quantizer"
    ),
}


def attributes_of(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that some names have left.

    Args:
        module: the full name of the module.

    Returns:
        A function of a name. It raises AttributeError for other names.

    Example:
        >>> attributes_of("tl_core.storage")("_from_bytes").__module__
        'tl_core.memory.untyped_storage'
    """

    def look_up(name: str) -> Any:
        present = MOVED_NAMES[module].get(name)
        if present is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return getattr(import_module(present), name)

    return look_up


class _FormerModules:
    """Finds former modules and native namespaces, and enters the present modules in `sys.modules`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in MOVED_MODULES and fullname not in NATIVE_NAMESPACES:
            return None
        from importlib.machinery import ModuleSpec  # only such pickles pay for it

        return ModuleSpec(fullname, self)  # type: ignore[arg-type] # a loader by its methods, as in PEP 451

    def create_module(self, spec: ModuleSpec) -> None:
        """The import system's own module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name in NATIVE_NAMESPACES:
            sys.modules[name] = getattr(_C, name.rpartition(".")[2])
        else:
            sys.modules[name] = import_module(MOVED_MODULES[name])


def serve() -> None:
    """Lets imports find former modules, after all other finders."""
    if not any(isinstance(finder, _FormerModules) for finder in sys.meta_path):
        sys.meta_path.append(_FormerModules())
