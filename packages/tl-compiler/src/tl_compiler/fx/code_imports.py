"""The imports that generated code needs where it stands alone."""

from __future__ import annotations

import builtins
import importlib
import sys
from types import ModuleType
from typing import Any

import tl_core

__all__ = ["builtins_of_block", "external_module", "import_block"]


def import_block(names: dict[str, Any], importer: Any) -> str:
    """The imports that give generated code its globals.

    Args:
        names: the globals.
        importer: knows where objects are defined; None: the interpreter's modules.

    Returns:
        Lines of code.

    Raises:
        RuntimeError: a global is of no module.
    """
    return "\n".join(sorted({_import_of(name, value, importer) for name, value in names.items()})) + "\n"


def _import_of(name: str, value: Any, importer: Any) -> str:
    special = {
        "inf": "from math import inf",
        "nan": "from math import nan",
        "NoneType": "NoneType = type(None)",
        "torch": "import torch",
        "device": "from torch import device",
        "fx_pytree": "import torch.fx._pytree as fx_pytree",
        "pytree": "import torch.utils._pytree as pytree",
        "wrap": "from torch.fx import wrap",
    }
    if name in special:
        return special[name]
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if importer is None:
        module, attribute = getattr(value, "__module__", None), getattr(value, "__name__", None)
    else:
        module, attribute = importer.get_name(value)
    if not module or not attribute:
        raise RuntimeError(f"the code of the graph needs {name}, {value!r}, which no module has")
    if attribute == name:
        return f"from {module} import {name}"
    return f"from {module} import {attribute} as {name}"


def external_module(name: str) -> ModuleType:
    """A module of the interpreter. `torch` is this library, unless a torch is imported already.

    Args:
        name: its name.

    Returns:
        The module.
    """
    if name.partition(".")[0] == "torch" and "torch" not in sys.modules:
        below = name.removeprefix("torch")
        try:
            return importlib.import_module(f"tl{below}")
        except ModuleNotFoundError:
            if not below:
                return tl_core
            raise
    return importlib.import_module(name)


def builtins_of_block() -> dict[str, Any]:
    """The builtins with which a block of imports is run: its `torch` is the one of `external_module`.

    Returns:
        The value of the globals' `__builtins__`.
    """

    def import_(
        name: str, globals_: Any = None, locals_: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if level or name.partition(".")[0] != "torch":
            return __import__(name, globals_, locals_, fromlist, level)
        module = external_module(name)
        return module if fromlist else external_module("torch")

    return {**vars(builtins), "__import__": import_}
