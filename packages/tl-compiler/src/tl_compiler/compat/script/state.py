"""`torch.jit._state`: the switch of TorchScript, and the classes that programs have registered."""

from __future__ import annotations

import os
from typing import Any

from tl_compiler.jit.decorations import compiles

__all__: list[str] = []

_script_classes: dict[type, Any] = {}
_name_to_pyclass: dict[str, type] = {}


class EnabledProxy:
    """The switch of TorchScript, which the environment variable `PYTORCH_JIT` holds.

    Example:
        >>> EnabledProxy().enabled
        True
    """

    @property
    def enabled(self) -> bool:
        """Whether programs are compiled."""
        return compiles()

    @enabled.setter
    def enabled(self, value: bool) -> None:
        os.environ["PYTORCH_JIT"] = "1" if value else "0"

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """Makes `script` and `trace` return their argument."""
    _enabled.enabled = False


def enable() -> None:
    """Makes `script` and `trace` compile their argument."""
    _enabled.enabled = True


class _Functions:
    """The compiled functions of PyTorch's process. In tl each program holds its own, so that nothing is to drop."""

    def drop_all_functions(self) -> None:
        """Does nothing: no function outlives its program."""

    def get_functions(self) -> list[Any]:
        """An empty list: no function outlives its program."""
        return []

    def find_function(self, name: str) -> None:
        """None: no function outlives its program."""


_python_cu = _Functions()


def _add_script_class(python_class: type, script_class: Any) -> None:
    _script_classes[python_class] = script_class
    _name_to_pyclass[f"{python_class.__module__}.{python_class.__qualname__}"] = python_class


def _get_script_class(python_class: type) -> Any:
    return _script_classes.get(python_class)


def _get_python_class(qualified_name: str) -> type | None:
    return _name_to_pyclass.get(qualified_name)


def _clear_class_state() -> None:
    _script_classes.clear()
    _name_to_pyclass.clear()
