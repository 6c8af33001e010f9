"""The imports that generated code needs where it stands alone."""

from __future__ import annotations

from types import ModuleType
from typing import Any

__all__ = ["import_block"]


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
