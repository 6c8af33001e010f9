"""NaN check: an error at the first operator whose result has a nan or an infinity."""

from __future__ import annotations

import contextlib
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

__all__ = ["numerics"]

_WORDS = {"raise": True, "ignore": False}


class numerics(contextlib.ContextDecorator):
    """Stops at the first operator that makes a nan or an infinity out of numbers, forward or backward.

    The RuntimeError names the operator, the position in its result, statistics of its inputs, in a module the module's
    path, and in a backward the line of the forward call. Operators whose inputs hold such numbers already, or that are
    given one as an argument (`masked_fill(mask, -inf)`), pass.

    It takes effect at once, for this thread; as a context manager or decorator, until its end. Every operator then
    reads its results and inputs once more.

    Args:
        nan, inf: "raise" or "ignore"; None leaves it as it is.

    Raises:
        ValueError: another word.

    Example::

        >>> with numerics(inf="raise"):
        ...     tensor([1.0, 2.0]) / tensor([4.0, 0.0])
        Traceback (most recent call last):
        RuntimeError: numerics: div.Tensor made inf at position (1,): 1 of the 2 elements of its result, ...
    """

    def __init__(self, nan: str | None = None, inf: str | None = None):
        for name, word in (("nan", nan), ("inf", inf)):
            if word is not None and word not in _WORDS:
                raise ValueError(f"numerics(): argument '{name}' must be 'raise' or 'ignore', got {word!r}")
        self._settings = (_WORDS.get(nan or ""), _WORDS.get(inf or ""))
        self._before = _C._observe(*self._settings)

    def __enter__(self) -> numerics:
        _C._observe(*self._settings)
        return self

    def __exit__(self, *error: object) -> None:
        _C._observe(*self._before)

    def __repr__(self) -> str:
        nan, inf = ("raise" if on else "ignore" for on in _C._observe(None, None))
        return f"numerics({nan=}, {inf=})"


def describe(operator: str, kind: str, result: Tensor, inputs: list[Tensor]) -> str:
    """The text of the error."""
    wrong = _C.ne(result, result) if kind == "nan" else _C.eq(_C.abs(result), float("inf"))
    positions = _C.nonzero(wrong)
    text = (
        f"numerics: {operator} made {kind} at position {tuple(positions[0].tolist())}: {len(positions)} of the "
        f"{result.numel()} elements of its result, shape {tuple(result.shape)}, {result.dtype}"
    )
    return "\n".join([text, *(f"  input {i}: {_statistics(t)}" for i, t in enumerate(inputs))])


def _statistics(t: Tensor) -> str:
    text = f"shape {tuple(t.shape)}, {t.dtype}"
    if t.numel() == 0 or t.is_meta:
        return text
    values: Any = _C.abs(t) if t.is_complex() else t
    values = values.to(_C.float64)
    low, high, mean = values.min().item(), values.max().item(), values.mean().item()
    return f"{text}, {'|min|' if t.is_complex() else 'min'} {low:.6g}, max {high:.6g}, mean {mean:.6g}"
