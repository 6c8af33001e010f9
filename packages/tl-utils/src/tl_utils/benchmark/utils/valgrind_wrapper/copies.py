"""Values that a process under Callgrind gets copies of."""

from __future__ import annotations

import enum
import pickle
import textwrap
from pathlib import Path
from typing import Any

import tl_core

__all__ = ["CopyIfCallgrind", "GlobalsBridge", "Serialization"]

_PLAIN = (
    bool,
    bytes,
    complex,
    dict,
    float,
    int,
    list,
    set,
    str,
    tuple,
    type(None),
    tl_core.dtype,
    tl_core.device,
)


class Serialization(enum.Enum):
    """The serialization of a value."""

    PICKLE = 0
    TORCH = 1


class CopyIfCallgrind:
    """Says that a value of `globals` may be copied into the process that runs under Callgrind.

    `Timer` measures time in this process and uses the value itself. `collect_callgrind` runs the statement in another
    process, which gets a copy.

    Args:
        value: the value.
        setup: the code that the other process runs before it loads the copy, such as an import of the class.

    Raises:
        ValueError: such a value can't be copied.

    Example:
        >>> CopyIfCallgrind(5).value
        5
    """

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        self._serialization = _way(value)
        self._value = value
        self._setup = None if setup is None else textwrap.dedent(setup).strip()

    @property
    def value(self) -> Any:
        """The value."""
        return self._value

    @property
    def setup(self) -> str | None:
        """The code that the other process runs first."""
        return self._setup

    @property
    def serialization(self) -> Serialization:
        """The serialization of the value."""
        return self._serialization

    @staticmethod
    def unwrap_all(globals: dict[str, Any]) -> dict[str, Any]:
        """The values themselves."""
        return {k: v.value if isinstance(v, CopyIfCallgrind) else v for k, v in globals.items()}


def _way(value: Any) -> Serialization:
    from tl_nn import Module

    if isinstance(value, (Module, tl_core.Tensor)):
        return Serialization.TORCH
    if isinstance(value, _PLAIN):
        return Serialization.PICKLE
    raise ValueError(
        f"CopyIfCallgrind: a {type(value).__name__} can't be copied; plain values, tensors and modules can. "
        "Make the value in `setup` instead"
    )


class GlobalsBridge:
    """Writes the values of `globals` as files, and the code that loads them.

    Args:
        globals: the values, wrapped in `CopyIfCallgrind`.
        data_dir: the folder of the files.

    Raises:
        ValueError: a value isn't wrapped.
    """

    def __init__(self, globals: dict[str, Any], data_dir: str) -> None:
        if plain := sorted(k for k, v in globals.items() if not isinstance(v, CopyIfCallgrind)):
            raise ValueError(
                "`collect_callgrind` requires that globals be wrapped in `CopyIfCallgrind` so that serialization is "
                f"explicit. Not wrapped: {', '.join(plain)}"
            )
        self._globals, self._folder = dict(globals), Path(data_dir)

    def construct(self) -> str:
        """Writes the files.

        Returns:
            str, the code that loads them.
        """
        lines: list[str] = []
        for number, (name, wrapped) in enumerate(self._globals.items()):
            path = self._folder / f"global_{number}"
            if wrapped.setup is not None:
                lines.append(wrapped.setup)
            lines.append(f"{name} = {self._write(wrapped, path)}")
        return "\n".join(lines)

    def _write(self, wrapped: CopyIfCallgrind, path: Path) -> str:
        if wrapped.serialization is Serialization.PICKLE:
            path.write_bytes(pickle.dumps(wrapped.value))
            return f"__import__('pickle').loads(__import__('pathlib').Path({str(path)!r}).read_bytes())"
        from tl_checkpoint import save

        save(wrapped.value, path)
        return f"__import__('tl_checkpoint').load({str(path)!r}, weights_only=False)"
