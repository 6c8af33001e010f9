"""Operator logs of a checkpoint's two runs, for the error about a difference (`checkpoint(debug=True)`)."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_core.pytree import tree_map
from tl_core.subclasses.python_dispatch import TorchDispatchMode

__all__ = ["OperatorLog", "explanation"]


class OperatorLog(TorchDispatchMode):
    """A mode that records each operator with its arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs = [repr(tree_map(_short, a)) for a in args]
        inputs += [f"{name}={tree_map(_short, a)!r}" for name, a in (kwargs or {}).items()]
        self.lines.append(f"{tree_map(_short, result)!r} = {func}({', '.join(inputs)})")
        return result


class _Short(str):
    """A text that is its own `repr`."""

    __repr__ = str.__str__


def _short(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return _Short(f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}")


def explanation(first: OperatorLog, second: OperatorLog) -> str:
    """The operators of both runs, one below the other.

    Args:
        first: the log of the forward.
        second: the log of the recomputation.
    """
    why = (
        "\nYou are seeing this error because you passed `debug=True` to checkpoint, or it was enabled for all "
        "checkpoints. Compare the operators of both runs: the first line that differs is where they part."
    )
    parts = [
        why,
        "Operators executed during the original forward:",
        *first.lines,
        "Operators executed during recomputation:",
        *second.lines,
    ]
    return "\n".join(parts)
