"""The imports that generated code needs where it stands alone."""

from __future__ import annotations

import builtins
import importlib
import math
import sys
from types import ModuleType
from typing import Any, NamedTuple

import tl_core
from tl_core import pytree

from . import _pytree as fx_pytree

__all__ = ["CustomBuiltin", "builtins_of_block", "custom_builtins", "external_module", "import_block"]


class CustomBuiltin(NamedTuple):
    """A global that generated code has without asking.

    Args:
        import_str: the line that imports it.
        obj: what it is.
    """

    import_str: str
    obj: Any


#: The globals that generated code has without asking, by name.
custom_builtins = {
    "inf": CustomBuiltin("from math import inf", math.inf),
    "nan": CustomBuiltin("from math import nan", math.nan),
    "NoneType": CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": CustomBuiltin("import torch", sys.modules.get("tl", tl_core)),
    "device": CustomBuiltin("from torch import device", tl_core.device),
    "fx_pytree": CustomBuiltin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": CustomBuiltin("import torch.utils._pytree as pytree", pytree),
}


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
    if name == "wrap":
        return "from torch.fx import wrap"
    if name in custom_builtins:
        return custom_builtins[name].import_str
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
