"""Properties of an operator that are the same for each call."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["OperatorFacts", "facts_of"]


class OperatorFacts:
    """The names, writes and aliases of an operator, which are the same for each call.

    Args:
        func: the operator.
    """

    def __init__(self, func: Any) -> None:
        self.name = func._native_name
        arguments, self.results, self.is_view, self.is_random = _C._alias_info(self.name)
        self.names = [name for name, _, _ in arguments]
        self.written = [i for i, (_, _, is_write) in enumerate(arguments) if is_write]
        self.device = self.names.index("device") if "device" in self.names else -1

    def device_of(self, args: Any, kwargs: Any) -> Any:
        """The argument `device`, or None."""
        if 0 <= self.device < len(args):
            return args[self.device]
        return kwargs.get("device")

    def with_device(self, args: Any, kwargs: Any, device: Any) -> Any:
        """The arguments of a call, with another `device`."""
        if 0 <= self.device < len(args):
            return (*args[: self.device], device, *args[self.device + 1 :]), kwargs
        return args, {**kwargs, "device": device}

    def written_arguments(self, args: Any, kwargs: Any) -> list[Any]:
        """The tensors to which a call may write."""
        values: list[Any] = []
        for i in self.written:
            value = args[i] if i < len(args) else kwargs.get(self.names[i])
            values.extend(value if isinstance(value, (list, tuple)) else [value])
        return [t for t in values if isinstance(t, Tensor)]


_facts: dict[Any, OperatorFacts] = {}


def facts_of(func: Any) -> OperatorFacts:
    """The facts of an operator, stored after the first call."""
    if func not in _facts:
        _facts[func] = OperatorFacts(func)
    return _facts[func]
