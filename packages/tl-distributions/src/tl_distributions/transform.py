"""Invertible maps: the base class, inverses, and compositions.

>>> from tl_distributions import AffineTransform
>>> t = ComposeTransform([AffineTransform(1.0, 2.0), AffineTransform(0.0, 3.0)])
>>> t(tl_core.tensor([0.0, 1.0]))
tensor([3., 9.])
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Sequence
from typing import Any, cast

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .constraints import Constraint
from .utils import _sum_rightmost

__all__ = ["ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform", "identity_transform"]


class Transform:
    """A map y = f(x) that can be inverted.

    A subclass sets `domain`, `codomain` and `bijective`, and implements `_call`, `_inverse` and `log_abs_det_jacobian`.

    With a cache of size 1 the last pair (x, y) is kept, and the inverse of that y is that very x: useful where the
    inverse is costly or inexact. Gradients of a cached x do not flow back through y.

    Args:
        cache_size (int): the number of pairs (x, y) in the cache, 0 or 1.

    Attributes:
        domain (Constraint): the region of x.
        codomain (Constraint): the region of y.
        bijective (bool): whether `t.inv(t(x)) == x` and `t(t.inv(y)) == y` on the domain and the codomain. Others
            satisfy at least `t(t.inv(t(x))) == t(x)`.

    Raises:
        ValueError: the cache size is neither 0 nor 1.

    Example:
        >>> import tl_core
        >>> from tl_distributions import ExpTransform
        >>> isinstance(ExpTransform(), Transform), ExpTransform().inv(tl_core.tensor(1.0))
        (True, tensor(0.))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, but got {cache_size}")
        self._cache_size = cache_size
        self._inv: weakref.ref[Transform] | None = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event, if the domain and the codomain agree."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("event_dim differs between domain and codomain: read it from these")

    @property
    def inv(self) -> Transform:
        """The inverse transform, whose inverse is this one again."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """The sign of the derivative, +1 or -1, of a bijective transform of single numbers."""
        raise NotImplementedError(f"{type(self).__name__} does not implement sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with another cache.

        Args:
            cache_size: its size, 0 or 1.

        Returns:
            This transform if its cache has that size, else a new one.
        """
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __call__(self, x: Any) -> Any:
        """The image y of x."""
        if self._cache_size == 0:
            return self._call(x)
        known_x, known_y = self._cached_x_y
        if x is known_x:
            return known_y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        """The x whose image is y."""
        if self._cache_size == 0:
            return self._inverse(y)
        known_x, known_y = self._cached_x_y
        if y is known_y:
            return known_x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement _call")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement _inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of |det dy/dx| of each event.

        Args:
            x: points of the domain.
            y: their images.

        Returns:
            A tensor without the event's dimensions.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """Computes the shape of y from the shape of x.

        Args:
            shape (Size): the shape of x.

        Returns:
            The shape of y, equal to the shape of x unless the transform changes it.
        """
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Computes the shape of x from the shape of y.

        Args:
            shape (Size): the shape of y.

        Returns:
            The shape of x.
        """
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform, which shares its cache."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._transform = transform

    @property
    def inv(self) -> Transform:
        return self._transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return cast(Constraint, self._transform.codomain)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        return cast(Constraint, self._transform.domain)

    @property
    def bijective(self) -> Any:
        return self._transform.bijective

    @property
    def sign(self) -> Any:
        return self._transform.sign

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._transform.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._transform == other._transform

    __hash__ = Transform.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transform!r})"

    def __call__(self, x: Any) -> Any:
        return self._transform._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._transform.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._transform.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._transform.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms applied one after the other.

    Args:
        parts: the transforms in the order of their application. They do the caching.
        cache_size (int): the size of the cache of each part.

    Example:
        >>> ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])(tl_core.tensor(0.0))
        tensor(3.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """The domain of the first part, with the event dimensions of the composition."""
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        return _widen(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """The codomain of the last part, with the event dimensions of the composition."""
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        return _widen(self.parts[-1].codomain, dims)

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        """The inverses of the parts, the last first."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return tl_core.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        terms = []
        dims = self.domain.event_dim
        for part, before, after in zip(self.parts, points[:-1], points[1:]):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {parts}\n)"


def _widen(constraint: Constraint, dims: int) -> Constraint:
    """A constraint with `dims` event dimensions at least."""
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions become dimensions of the event.

    Values don't change. `log_abs_det_jacobian` sums over these dimensions.

    Args:
        base_transform: the transform of the values.
        reinterpreted_batch_ndims: how many dimensions.
        cache_size (int): the size of the cache.

    Example:
        >>> import tl_core
        >>> from tl_distributions import ExpTransform
        >>> of_events = IndependentTransform(ExpTransform(), 1)
        >>> of_events.log_abs_det_jacobian(tl_core.tensor([1.0, 2.0]), tl_core.tensor([1.0, 2.0]).exp())
        tensor(3.)
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """The base's region, with more event dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """The base's region, with more event dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """As of the base."""
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        """As of the base."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        _check_dims("x", x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        _check_dims("y", y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def _check_dims(name: str, value: Tensor, dims: int) -> None:
    if value.dim() < dims:
        raise ValueError(
            f"Too few dimensions on input {name}: expected {dims} or more, but got {value.dim()}"
        )


class ReshapeTransform(Transform):
    """Reshapes each event.

    Args:
        in_shape (Size): the shape of the event of x.
        out_shape (Size): the shape of the event of y, with as many elements.
        cache_size (int): the size of the cache.

    Raises:
        ValueError: the shapes have different numbers of elements.

    Example:
        >>> import tl_core
        >>> ReshapeTransform((4,), (2, 2))(tl_core.arange(4.0))
        tensor([[0., 1.],
                [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"in_shape and out_shape must have as many elements, but got {self.in_shape} and {self.out_shape}"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        """Real tensors of as many dimensions as `in_shape`."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """Real tensors of as many dimensions as `out_shape`."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        return (
            self if self._cache_size == cache_size else type(self)(self.in_shape, self.out_shape, cache_size)
        )

    def _call(self, x: Any) -> Any:
        return x.reshape(self._replace_event(x.shape, self.in_shape, self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self._replace_event(y.shape, self.out_shape, self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return self._replace_event(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._replace_event(shape, self.out_shape, self.in_shape)

    @staticmethod
    def _replace_event(shape: Any, old: Size, new: Size) -> Size:
        if len(shape) < len(old):
            raise ValueError(
                f"Too few dimensions on input: expected {len(old)} or more, but got {len(shape)}"
            )
        batch_dims = len(shape) - len(old)
        if tuple(shape[batch_dims:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {old} but got {tuple(shape[batch_dims:])}")
        return Size((*shape[:batch_dims], *new))
