"""Sobol sequences: points that fill the unit cube more evenly than random ones.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
projections", SIAM J. Sci. Comput. 30 (2008); sobol_numbers.bin.gz has them, packed by
tools/sobol_numbers.py.

>>> from tl_core.functions.quasirandom import SobolEngine
>>> SobolEngine(2).draw(4)
tensor([[0.0000, 0.0000],
        [0.5000, 0.5000],
        [0.7500, 0.2500],
        [0.2500, 0.7500]])
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Iterator
from importlib import resources

from tl_core import _C
from tl_core._C import Generator, Tensor
from tl_core._C import dtype as Dtype
from tl_core.functional import frombuffer

__all__ = ["SobolEngine"]

BITS = 30  # of a coordinate
MOST_DIMENSIONS = 21201


# ---- direction numbers -------------------------------------------------------------------------------------


@functools.cache
def _file() -> bytes:
    return gzip.decompress(resources.files("tl_core.functions").joinpath("sobol_numbers.bin.gz").read_bytes())


def _unpack_bits(offset: int, count: int) -> Tensor:
    """That many bits of the file from a byte on."""
    size = -(-count // 8)
    data = bytearray(_file()[offset : offset + size])
    octets = frombuffer(data, dtype=_C.uint8).long() if size else _C.zeros(0, dtype=_C.int64)
    shifts = _C.arange(7, -1, -1)
    return (octets.unsqueeze(-1).bitwise_right_shift(shifts) & 1).flatten()[:count]


def _polynomials() -> Iterator[tuple[int, Tensor, int]]:
    """For each degree the inner coefficients of the primitive polynomials, and where their numbers begin."""
    offset = 0
    for degree in range(1, 19):
        candidates = 2 ** (degree - 1)
        inner = _unpack_bits(offset, candidates).nonzero().flatten()
        offset += -(-candidates // 8)
        yield degree, inner, offset
        offset += -(-(inner.numel() * degree * (degree - 1) // 2) // 8)


def _initial_numbers(degree: int, count: int, offset: int) -> Tensor:
    """m_1, m_2, ... of the first `count` dimensions of a degree, a row a dimension."""
    bits = _unpack_bits(offset, count * degree * (degree - 1) // 2).reshape(count, -1)
    columns, at = [_C.ones(count, dtype=_C.int64)], 0
    for size in range(1, degree):
        weights = 2 ** _C.arange(size, 0, -1)
        columns.append((bits[:, at : at + size] * weights).sum(-1) + 1)
        at += size
    return _C.stack(columns, -1)


def _directions(degree: int, inner: Tensor, initial: Tensor) -> Tensor:
    """All direction numbers by the recurrence of Bratley and Fox (1988), scaled to BITS bits."""
    numbers = list(initial.unbind(-1))
    for j in range(degree, BITS):
        fresh = numbers[j - degree] ^ (numbers[j - degree] << degree)
        for k in range(1, degree):
            fresh = fresh ^ ((inner >> (degree - 1 - k) & 1) * numbers[j - k] << k)
        numbers.append(fresh)
    return _C.stack(numbers, -1) << _C.arange(BITS - 1, -1, -1)


def _direction_numbers(dimension: int) -> Tensor:
    """A row a dimension, a column a bit of the index."""
    rows = [(_C.ones(1, BITS, dtype=_C.int64) << _C.arange(BITS - 1, -1, -1))]
    missing = dimension - 1
    for degree, inner, offset in _polynomials():
        if missing <= 0:
            break
        count = min(missing, inner.numel())
        rows.append(_directions(degree, inner[:count], _initial_numbers(degree, count, offset)))
        missing -= count
    return _C.cat(rows)


# ---- points ------------------------------------------------------------------------------------------------


def _gray_block(directions: Tensor, exponent: int) -> Tensor:
    """The coordinates of points 0 to 2^exponent - 1 in the order of the Gray code, each half made of the one before."""
    block = _C.zeros(1, directions.size(0), dtype=_C.int64)
    for bit in range(exponent):
        step = directions[:, bit] if bit == 0 else directions[:, bit] ^ directions[:, bit - 1]
        block = _C.cat((block, block ^ step))
    return block


def _coordinates(directions: Tensor, index: int) -> Tensor:
    """The coordinates of one point: Antonov and Saleev (1979)."""
    code, point = index ^ (index >> 1), _C.zeros(directions.size(0), dtype=_C.int64)
    for bit in range(code.bit_length()):
        if code >> bit & 1:
            point = point ^ directions[:, bit]
    return point


def _points(directions: Tensor, first: int, count: int) -> Tensor:
    """Rows `first` to `first + count - 1`: Gray codes are linear, so blocks differ by their start."""
    exponent = max(count - 1, 0).bit_length()
    size = 1 << exponent
    block, start = _gray_block(directions, exponent), first // size * size
    parts, position = [], first
    while position < first + count:
        end = min(start + size, first + count)
        parts.append(block[position - start : end - start] ^ _coordinates(directions, start))
        start, position = start + size, end
    return _C.cat(parts) if parts else block[:0]


class SobolEngine:
    """Points of a Sobol sequence in the unit cube, in the order of the Gray code.

    Args:
        dimension: of the cube, from 1 to 21201.
        scramble: whether the digits are scrambled by random linear maps and shifts, after Owen (1998).
        seed: of the scrambling; without one, the default generator is drawn from.

    Raises:
        ValueError: if `dimension` is out of range.

    Example:
        >>> engine = SobolEngine(3)
        >>> engine.draw(2)
        tensor([[0.0000, 0.0000, 0.0000],
                [0.5000, 0.5000, 0.5000]])
        >>> engine.fast_forward(1).draw()
        tensor([[0.2500, 0.7500, 0.7500]])
    """

    MAXBIT = BITS
    MAXDIM = MOST_DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if not 1 <= dimension <= MOST_DIMENSIONS:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {MOST_DIMENSIONS}], got {dimension}"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = _direction_numbers(dimension)
        self.shift = _C.zeros(dimension, dtype=_C.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        size = (self.dimension, BITS)
        digits = _C.randint(2, size, generator=generator)
        self.shift = (digits << _C.arange(BITS)).sum(-1)
        maps = _C.randint(2, (*size, BITS), generator=generator).tril()
        maps.diagonal(0, -2, -1).fill_(1)
        shifts = _C.arange(BITS - 1, -1, -1)
        bits = self.sobolstate.unsqueeze(1).bitwise_right_shift(shifts.unsqueeze(-1)) & 1
        scrambled = _C.matmul(maps.double(), bits.double()).long() & 1
        self.sobolstate = (scrambled << shifts.unsqueeze(-1)).sum(1)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next points, a row each.

        Args:
            n: how many.
            out: takes the result, and its shape.
            dtype: of the result; the default one if it isn't given.
        """
        points = _points(self.sobolstate, self.num_generated, n) ^ self.shift
        if n > 0:
            self.quasi = points[-1]
        self.num_generated += n
        result = points.to(dtype or _C.get_default_dtype()) * 2.0**-BITS
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next 2^m points, which are balanced if as many or none were drawn before.

        Raises:
            ValueError: if the number of points drawn with them is no power of two.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been drawn before, then: n={self.num_generated}+2**{m}={total}. draw() takes any number."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point; returns the engine."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Passes over `n` points; returns the engine."""
        self.num_generated += n
        last = max(self.num_generated - 1, 0)
        self.quasi = _coordinates(self.sobolstate, last) ^ self.shift
        return self

    def __repr__(self) -> str:
        more = ", scramble=True" * bool(self.scramble)
        seed = "" if self.seed is None else f", seed={self.seed}"
        return f"{type(self).__name__}(dimension={self.dimension}{more}{seed})"
