"""Private functions of quantized layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..nn.quantized.modules.utils import quantized_weight as _quantize_weight

__all__ = ["_quantize_weight"]


def _reverse_repeat_padding(padding: Sequence[int]) -> list[int]:
    """The padding of each axis for both ends, the last axis first, as `pad` takes it.

    Args:
        padding: the padding of each axis.

    Example:
        >>> _reverse_repeat_padding([1, 2])
        [2, 2, 1, 1]
    """
    return [extent for extent in reversed(padding) for _ in range(2)]


def _ntuple_from_first(n: int) -> Callable[[Any], Any]:
    """A function that repeats the first entry of a sequence, or a number.

    Args:
        n: the length of the result.
    """

    def parse(x: Any) -> Any:
        first = x[0] if isinstance(x, (tuple, list)) and x else x
        return (first,) * n

    return parse


_pair_from_first = _ntuple_from_first(2)


def _hide_packed_params_repr(self: Any, params: type | tuple[type, ...]) -> str:
    """The text of a module without the parts of some classes.

    Args:
        self: the module.
        params: the classes.
    """
    lines = self.extra_repr().split("\n") if self.extra_repr() else []
    parts = []
    for name, part in self._modules.items():
        if not isinstance(part, params):
            parts.append(f"({name}): " + repr(part).replace("\n", "\n  "))
    if not parts and len(lines) <= 1:
        return f"{self._get_name()}({''.join(lines)})"
    return f"{self._get_name()}(\n  " + "\n  ".join(lines + parts) + "\n)"
