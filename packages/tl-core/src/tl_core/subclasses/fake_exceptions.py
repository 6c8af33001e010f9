"""What fakes can't do."""

from __future__ import annotations

from typing import Any

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
]


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor of a kind of which there are no fakes."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class _OfOperator(RuntimeError):
    _words = "{}"

    def __init__(self, func: Any) -> None:
        super().__init__(self._words.format(func))
        self.func = func


class DataDependentOutputException(_OfOperator):
    """A number was asked for that only elements tell."""

    _words = (
        "{}: the result depends on elements, and a FakeTensor has none. Leave FakeTensorMode for what asks for values, "
        "such as item(), tolist() and `if` on a tensor"
    )


class DynamicOutputShapeException(_OfOperator):
    """The sizes of a result depend on elements."""

    _words = (
        "{}: the shape of the result depends on elements, and a FakeTensor has none. `torch.where` has a shape that "
        "does not"
    )


class UnsupportedOperatorException(_OfOperator):
    """An operator that neither runs on meta nor may run on real memory in place of it."""

    _words = "{}: there is no meta kernel (register_fake), and no other may stand in for it"


class MetadataMismatchError(RuntimeError):
    """What a fake says differs from what the real tensor is."""
