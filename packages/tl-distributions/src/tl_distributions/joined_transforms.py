"""Transforms of parts that are joined to one tensor."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import tl_core
from tl_core import Tensor

from . import constraints
from .constraints import Constraint
from .transform import Transform
from .utils import _sum_rightmost

__all__ = ["CatTransform", "StackTransform"]


class CatTransform(Transform):
    """Transforms of parts that `cat` joins along a dimension.

    Args:
        tseq: one transform for each part.
        dim (int): the dimension that the parts are joined along.
        lengths: the length of each part, 1 by default.
        cache_size (int): the size of the cache.

    Example:
        >>> from tl_distributions import ExpTransform, identity_transform
        >>> t = CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])
        >>> t(tl_core.zeros(3))
        tensor([1., 0., 0.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        transforms = _transforms(tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in transforms] if cache_size else transforms
        self.lengths = [1] * len(transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(transforms):
            raise ValueError(
                f"lengths must name one length a transform: got {len(self.lengths)} for {len(transforms)}"
            )
        self.dim = dim

    @property
    def event_dim(self) -> int:
        """The largest of the parts."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of all parts together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value: Tensor) -> Sequence[Tensor]:
        constraints._check_dim("dim", self.dim, value)
        if value.size(self.dim) != self.length:
            raise ValueError(
                f"expected {self.length} elements along dimension {self.dim}, but got {value.size(self.dim)}"
            )
        return value.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return tl_core.cat([t(part) for t, part in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return tl_core.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y)):
            term = t.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return tl_core.cat(terms, dim) if dim < 0 else functools.reduce(operator.add, terms)

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """The parts' regions, joined along the dimension."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """The parts' regions, joined along the dimension."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


def _transforms(tseq: Sequence[Transform]) -> list[Transform]:
    transforms = list(tseq)
    for t in transforms:
        if not isinstance(t, Transform):
            raise TypeError(f"tseq must hold transforms, but got {type(t).__name__}")
    return transforms


class StackTransform(Transform):
    """Transforms of parts that `stack` joins along a dimension.

    Args:
        tseq: the transforms, one for each index.
        dim (int): the dimension that the parts are joined along.
        cache_size (int): the size of the cache.

    Example:
        >>> from tl_distributions import ExpTransform, identity_transform
        >>> StackTransform([ExpTransform(), identity_transform])(tl_core.zeros(2))
        tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        transforms = _transforms(tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in transforms] if cache_size else transforms
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        return (
            self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)
        )

    def _parts(self, value: Tensor) -> Sequence[Tensor]:
        constraints._check_dim("dim", self.dim, value)
        if value.size(self.dim) != len(self.transforms):
            raise ValueError(
                f"expected {len(self.transforms)} elements along dimension {self.dim}, one a transform, "
                f"but got {value.size(self.dim)}"
            )
        return value.unbind(self.dim)

    def _each(self, call: Callable[..., Any], *values: Any) -> Tensor:
        parts = zip(self.transforms, *(self._parts(value) for value in values))
        return tl_core.stack([call(*part) for part in parts], self.dim)

    def _call(self, x: Any) -> Any:
        return self._each(lambda t, part: t(part), x)

    def _inverse(self, y: Any) -> Any:
        return self._each(lambda t, part: t.inv(part), y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._each(lambda t, before, after: t.log_abs_det_jacobian(before, after), x, y)

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """The parts' regions, joined along the dimension."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """The parts' regions, joined along the dimension."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
