"""One call of a row as a program of its tensors, at any size `b`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tl_core as tl
from tl_core import pytree

CORE = Path(__file__).parents[2] / "tl-core"
sys.path[:0] = [str(CORE), str(CORE / "tests")]
if not (CORE / "opgen").is_dir():
    pytest.skip(
        "the rows are in tl-core's sources, which are not beside these tests", allow_module_level=True
    )
from opgen import collect  # noqa: E402 - needs the path above
from shape_calls import CALLS, drawn  # noqa: E402 - needs the path above

EXAMPLE = 8
UNSET = ("empty", "new_empty", "resize", "_unsafe_masked")  # rows whose elements nothing sets


def rows() -> list[Any]:
    """The rows that return something."""
    return [row for row in collect.rows() if row.rets]


@dataclass(frozen=True)
class Line:
    """A number that depends on the size: `factor * b + start`."""

    factor: int
    start: int

    def at(self, b: Any) -> Any:
        """The number at a size, which may be a symbolic integer or a dimension."""
        scaled = b if self.factor == 1 else self.factor * b
        return scaled + self.start if self.start else scaled


@dataclass
class RowProgram:
    """A row, and its call at every size."""

    row: Any
    call: Callable[[int], tuple[Any, ...]]

    def inputs(self, b: int) -> tuple[Any, ...]:
        """The tensors of the call, with elements that most operators accept."""
        return tuple(filled(t, self.row.random) for t in self._leaves(b) if isinstance(t, tl.Tensor))

    def dims(self, b: Any) -> tuple[Any, ...]:
        """The dynamic dimensions of each tensor."""
        return tuple(
            {d: line.at(b) for d, line in enumerate(lines) if line.factor} for lines in self._lines()
        )

    def function(self, *tensors: Any) -> Any:
        """The operator's results and numbers of their sizes."""
        rest = iter(tensors)
        size = self._size(tensors)
        leaves = [
            next(rest) if isinstance(v, tl.Tensor) else v.at(size) if isinstance(v, Line) else v
            for v in self._pattern()
        ]
        args = pytree.tree_unflatten(leaves, pytree.tree_structure(self.call(EXAMPLE)))
        kwargs = args[-1] if args and isinstance(args[-1], dict) else {}
        args = args[:-1] if kwargs else args
        if self.row.writes_self:
            args = (args[0].clone(), *args[1:])
        out = operator(self.row)(*args, **kwargs)
        return [self._used(z) for z in (out if isinstance(out, (list, tuple)) else [out])]

    def _used(self, z: Any) -> Any:
        if not isinstance(z, tl.Tensor):
            return z
        sizes = tl.full((), sum(z.shape)), tl.ones(z.numel())
        if self.row.random or self.row.name.startswith(UNSET):
            return sizes
        return z, z + tl.zeros(z.shape, dtype=z.dtype), *sizes

    def _leaves(self, b: int) -> list[Any]:
        return pytree.tree_leaves(self.call(b))

    def _lines(self) -> Iterator[list[Line]]:
        pairs = zip(self._leaves(EXAMPLE), self._leaves(EXAMPLE + 1), strict=True)
        for low, high in pairs:
            if isinstance(low, tl.Tensor):
                yield [_line(m, n) for m, n in zip(low.shape, high.shape, strict=True)]

    def _pattern(self) -> Iterator[Any]:
        pairs = zip(self._leaves(EXAMPLE), self._leaves(EXAMPLE + 1), strict=True)
        for low, high in pairs:
            moves = isinstance(low, int) and not isinstance(low, tl.Tensor) and low != high
            yield _line(low, high) if moves else low

    def _size(self, tensors: Any) -> Any:
        sizes = ((line, t, d) for t, lines in zip(tensors, self._lines()) for d, line in enumerate(lines))
        line, t, d = min(sizes, key=lambda s: (s[0].factor < 1, s[0].factor, abs(s[0].start)))
        return (t.shape[d] - line.start) // line.factor if line != Line(1, 0) else t.shape[d]


def _line(low: int, high: int) -> Line:
    return Line(high - low, low - EXAMPLE * (high - low))


def operator(row: Any) -> Any:
    """The overload of a row."""
    return getattr(getattr(tl.ops.aten, row.base), row.schema.overload or "default")


def filled(t: tl.Tensor, probabilities: bool) -> tl.Tensor:
    """A tensor of this geometry: probabilities, or elements whose square matrices are far from singular."""
    if t.device.type != "meta":
        return t
    count = t.numel()
    values = (tl.arange(count) * 7 % 5 + 1).reshape(t.shape)
    if not t.dtype.is_floating_point and not t.dtype.is_complex:
        return (values % 2).to(t.dtype)
    values = values / 5
    if not probabilities and t.ndim > 1 and t.shape[-1] == t.shape[-2]:
        values = values + t.shape[-1] * tl.eye(t.shape[-1])
    return values.to(t.dtype)


def programs(row: Any, most: int) -> list[RowProgram]:
    """Some calls of a row that it accepts."""
    spelled = CALLS.get(row.name)
    groups = [[call] for call in spelled] if spelled is not None else drawn(row)
    accepted: list[RowProgram] = []
    for group in groups:
        program = next((p for call in group if accepts(p := RowProgram(row, call))), None)
        if program is not None:
            accepted.append(program)
            if len(accepted) == most:
                break
    return accepted


def accepts(program: RowProgram) -> bool:
    """Whether the operator accepts the call at some sizes, and a tensor of it depends on the size."""
    try:
        if not any(line.factor for lines in program._lines() for line in lines):
            return False
        program.function(*program.inputs(EXAMPLE))
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, AttributeError):
        return False  # the operator refuses arguments that were drawn without regard to its conditions
    return True
