"""The precision of float32 products under the names that libraries' modules have for it."""

from typing import Any

from tl_core import get_float32_matmul_precision, set_float32_matmul_precision

__all__ = ["FloatPrecision"]

_PRECISIONS = {"ieee": "highest", "none": "highest", "tf32": "high", "bf16": "medium"}
_NAMES = {"highest": "ieee", "high": "tf32", "medium": "bf16"}


class FloatPrecision:
    """A descriptor that reads and sets with how many bits float32 products are computed.

    Args:
        name: its name in errors.
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return _NAMES[get_float32_matmul_precision()]

    def __set__(self, owner: object, value: Any) -> None:
        if value not in _PRECISIONS:
            names = ", ".join(map(repr, _PRECISIONS))
            raise RuntimeError(f"{self.name} must be one of {names}, but got {value!r}")
        set_float32_matmul_precision(_PRECISIONS[value])
