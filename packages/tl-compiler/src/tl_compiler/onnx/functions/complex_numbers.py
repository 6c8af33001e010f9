"""Complex tensors, which are pairs of real numbers in a last dimension of 2."""

from __future__ import annotations

from typing import Any

from .registry import translates, translates_complex

__all__: list[str] = []  # the functions enter the table of translations by the names of operators


@translates("aten::view_as_complex", "aten::view_as_complex_copy")
def view_as_complex(op: Any, self: Any) -> Any:
    """The same pairs."""
    return op.Identity(self)


@translates("aten::complex")
def complex_(op: Any, real: Any, imag: Any) -> Any:
    """Pairs of a real and an imaginary part."""
    return op.Concat(op.Unsqueeze(real, [-1]), op.Unsqueeze(imag, [-1]), axis=-1)


@translates_complex("aten::real")
def real(op: Any, self: Any) -> Any:
    """The real part."""
    return op.Gather(self, 0, axis=-1)


@translates_complex("aten::imag")
def imag(op: Any, self: Any) -> Any:
    """The imaginary part."""
    return op.Gather(self, 1, axis=-1)


@translates_complex(
    *("aten::alias", "aten::detach", "aten::contiguous", "aten::resolve_conj", "aten::resolve_neg"),
    *("aten::lift_fresh_copy", "aten::positive"),
)
def identity(op: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """The same tensor."""
    return op.Identity(self)


@translates_complex("aten::exp")
def exp(op: Any, self: Any) -> Any:
    """The exponential function, by Euler's formula."""
    length, angle = op.Exp(real(op, self)), imag(op, self)
    return complex_(op, op.Mul(length, op.Cos(angle)), op.Mul(length, op.Sin(angle)))


@translates_complex("aten::reshape", "aten::view_copy")
def reshape(op: Any, self: Any, shape: Any) -> Any:
    """A tensor with other sizes."""
    return op.Reshape(self, op.builder.vector([*shape, 2]))


@translates_complex("aten::expand")
def expand(op: Any, self: Any, size: Any, implicit: bool = False) -> Any:
    """A tensor with repeated dimensions."""
    return op.Expand(self, op.builder.vector([*(1 if n == -1 else n for n in size), 2]))


def _rank(op: Any) -> int:
    return len(op.meta_of(0).shape)


@translates_complex("aten::unsqueeze")
def unsqueeze(op: Any, self: Any, dim: int) -> Any:
    """A tensor with a new dimension."""
    return op.Unsqueeze(self, [dim % (_rank(op) + 1)])


@translates_complex("aten::squeeze", "aten::squeeze.dims")
def squeeze(op: Any, self: Any, dim: Any = None) -> Any:
    """A tensor without dimensions of size 1."""
    sizes = list(op.meta_of(0).shape)
    dims = range(len(sizes)) if dim is None else [d % len(sizes) for d in dim]
    axes = [d for d in dims if sizes[d] == 1]
    return op.Squeeze(self, axes) if axes else op.Identity(self)


@translates_complex("aten::select.int")
def select(op: Any, self: Any, dim: int, index: Any) -> Any:
    """A slice along a dimension."""
    return op.Gather(self, index, axis=dim % _rank(op))
