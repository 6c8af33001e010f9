"""What other packages add to operators that are defined at run time, and to `compile`: `module:function`, loaded when
it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

makers: dict[str, str] = {}
# The modules that define operators as functions of Python, in the order of look-ups.
python_operators: list[str] = []
# Modules that register the operators of a namespace when they are imported.
namespaces: dict[str, str] = {}
# The methods of Tensor that only quantized tensors have, and their text and pickles, by name.
quantized_methods: dict[str, Callable[..., Any]] = {}


def maker(name: str) -> Any:
    """The function that a package has registered by a name.

    Args:
        name: such as `derivative`.

    Raises:
        RuntimeError: no package that has been imported registers it.
    """
    if name not in makers:
        raise RuntimeError(f"no package that has been imported offers {name!r} for custom operators")
    module, _, function = makers[name].partition(":")
    return getattr(import_module(module), function)


def add_python_operators(*modules: str) -> None:
    """Adds modules whose operators are functions of Python.

    Args:
        *modules: the modules, in the order of look-ups, behind those of other rooms and packages.
    """
    python_operators.extend(module for module in modules if module not in python_operators)
