"""Invertible maps between tensors, with the logarithms of their Jacobian determinants.

>>> t = ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])
>>> x = tl_core.tensor([2.0, 1.0])
>>> tl_core.allclose(t.inv(t(x)), x)
True
"""

from __future__ import annotations

import functools
import math
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, cast

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .constraints import Constraint
from .utils import _softplus, _sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A map y = f(x) that can be inverted.

    A subclass sets `domain`, `codomain` and `bijective`, and implements `_call`, `_inverse` and `log_abs_det_jacobian`.

    With a cache of size 1 the last pair (x, y) is kept, and the inverse of that y is that very x: useful where the
    inverse is costly or inexact. Gradients of a cached x do not flow back through y.

    Args:
        cache_size (int): 0 keeps nothing, 1 keeps the last pair.

    Attributes:
        domain (Constraint): where x lies.
        codomain (Constraint): where y lies.
        bijective (bool): whether `t.inv(t(x)) == x` and `t(t.inv(y)) == y` on the domain and the codomain. Others
            satisfy at least `t(t.inv(t(x))) == t(x)`.

    Raises:
        ValueError: the cache size is neither 0 nor 1.
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
        """How many dimensions make an event, where that is the same in the domain and in the codomain."""
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
        """The shape of y, given that of x.

        Args:
            shape (Size): the shape of x.

        Returns:
            The shape of y: that of x, unless the transform changes it.
        """
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of x, given that of y.

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
        parts: the transforms, the first of which is applied first; they do the caching.
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
        """That of the first part, with as many event dimensions as the whole takes."""
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims += part.domain.event_dim - part.codomain.event_dim
            dims = max(dims, part.domain.event_dim)
        return _widened(self.parts[0].domain, dims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """That of the last part, with as many event dimensions as the whole gives."""
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims += part.codomain.event_dim - part.domain.event_dim
            dims = max(dims, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, dims)

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


def _widened(constraint: Constraint, dims: int) -> Constraint:
    """A constraint with `dims` event dimensions at least."""
    more = dims - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions become dimensions of the event.

    Values stay what they are; the logarithms of the Jacobian are summed over these dimensions.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: how many dimensions.
        cache_size (int): the size of the cache.
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
        """That of the base, with more event dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """That of the base, with more event dimensions."""
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
    """Another shape of the same elements of an event.

    Args:
        in_shape (Size): the shape of the event of x.
        out_shape (Size): the shape of the event of y, with as many elements.
        cache_size (int): the size of the cache.

    Raises:
        ValueError: the shapes have different numbers of elements.
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
        return x.reshape(self._swapped(x.shape, self.in_shape, self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self._swapped(y.shape, self.out_shape, self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return self._swapped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._swapped(shape, self.out_shape, self.in_shape)

    @staticmethod
    def _swapped(shape: Any, old: Size, new: Size) -> Size:
        if len(shape) < len(old):
            raise ValueError(
                f"Too few dimensions on input: expected {len(old)} or more, but got {len(shape)}"
            )
        kept = len(shape) - len(old)
        if tuple(shape[kept:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {old} but got {tuple(shape[kept:])}")
        return Size((*shape[:kept], *new))


class ExpTransform(Transform):
    """y = exp(x).

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    Args:
        exponent (Tensor): the exponent, not 0.
        cache_size (int): the size of the cache.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else tl_core.tensor(exponent)

    @property
    def sign(self) -> Any:
        """The exponent's sign."""
        return self.exponent.sign()

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return tl_core.broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape: Any) -> Any:
        return tl_core.broadcast_shapes(shape, self.exponent.shape)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), and x = log(y / (1 - y)).

    Images stay within (0, 1) by the precision of their type.

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SigmoidTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        info = tl_core.finfo(x.dtype)
        return x.sigmoid().clamp(info.tiny, 1 - info.eps)

    def _inverse(self, y: Any) -> Any:
        info = tl_core.finfo(y.dtype)
        y = y.clamp(info.tiny, 1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -_softplus(-x) - _softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)).

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftplusTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return _softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -_softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x).

    Near ±1 the inverse has few digits: a cache of size 1 avoids it.

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TanhTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # 1 - tanh(x)**2 = 4 / (exp(x) + exp(-x))**2
        return 2 * (math.log(2) - x - _softplus(-2 * x))


class AbsTransform(Transform):
    """y = |x|, whose inverse gives the number that is not negative.

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc (Tensor or float): what is added.
        scale (Tensor or float): what is multiplied by, not 0.
        event_dim (int): how many dimensions make an event.
        cache_size (int): the size of the cache.
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """How many dimensions make an event."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """Real numbers, or tensors of them."""
        return _widened(constraints.real, self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """Real numbers, or tensors of them."""
        return _widened(constraints.real, self._event_dim)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _same(self.loc, other.loc)
            and _same(self.scale, other.scale)
        )

    __hash__ = Transform.__hash__

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, Tensor):
            each = self.scale.abs().log()
        else:
            each = tl_core.full_like(x, math.log(abs(self.scale)))
        kept = x.shape[: x.dim() - self._event_dim]
        return _sum_rightmost(each.expand(x.shape), self._event_dim).expand(kept)

    def forward_shape(self, shape: Any) -> Any:
        return tl_core.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    def inverse_shape(self, shape: Any) -> Any:
        return self.forward_shape(shape)


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers or tensors are equal."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return a is b or bool((tl_core.as_tensor(a) == b).all())
    return bool(a == b)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 real numbers to Cholesky factors of n by n correlation matrices.

    With r = tanh(x) filled into the strictly lower triangle row by row, an element of the factor is r times the length
    that the elements to its left leave of a row of length 1, and the diagonal is what is left at the end (Lewandowski,
    Kurowicka and Joe, Generating random correlation matrices based on vines and extended onion method, 2009).

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        r = vec_to_tril_matrix(_inside(x.tanh()), diag=-1)
        left = (1 - r * r).cumprod(-1).sqrt()  # what remains of a row after each element
        before = tl_core.cat([tl_core.ones_like(left[..., :1]), left[..., :-1]], -1)
        identity = tl_core.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return (r + identity) * before

    def _inverse(self, y: Any) -> Any:
        left = 1 - (y * y).cumsum(-1)
        before = tl_core.cat([tl_core.ones_like(left[..., :1]), left[..., :-1]], -1)
        r = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return r.log1p() / 2 - (-r).log1p() / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # an element is r times the square root of what remains before it, and dr/dx = 1 - tanh(x)**2
        left = 1 - (y * y).cumsum(-1)
        remaining = tril_matrix_to_vec(left, diag=-2) if left.shape[-1] > 1 else left[..., :0, 0]
        stretch = 0.5 * remaining.log().sum(-1)
        return stretch - 2 * (x + _softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input: expected 1 or more, but got 0")
        count = shape[-1]
        n = round(0.5 + math.sqrt(0.25 + 2 * count))
        if n * (n - 1) // 2 != count:
            raise ValueError(f"the last dimension must be n (n - 1) / 2 for some n, but got {count}")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError(f"Too few dimensions on input: expected 2 or more, but got {len(shape)}")
        if shape[-2] != shape[-1]:
            raise ValueError(f"expected square matrices, but got the shape {tuple(shape)}")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


def _inside(r: Tensor) -> Tensor:
    """Numbers within (-1, 1), by the precision of their type."""
    eps = tl_core.finfo(r.dtype).eps
    return r.clamp(-1 + eps, 1 - eps)


class SoftmaxTransform(Transform):
    """y = exp(x), normalized along the last dimension to sum to 1.

    Not bijective: all x + c have one image. Coordinates stay apart as far as they can, which suits optimization
    coordinate by coordinate.

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        return _at_least_vector(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _at_least_vector(shape)


def _at_least_vector(shape: Any) -> Any:
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input: expected 1 or more, but got 0")
    return shape


class StickBreakingTransform(Transform):
    """Vectors of n real numbers to vectors of n + 1 numbers on the simplex.

    A sigmoid of each coordinate says how much is broken off what remains of a stick of length 1. Coordinate k of n is
    shifted by log(n - k), so that 0 goes to the centre.

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        broken = _clamped_sigmoid(x - _shifts(x))
        left = (1 - broken).cumprod(-1)
        one = tl_core.ones_like(left[..., :1])
        return tl_core.cat([broken, one], -1) * tl_core.cat([one, left], -1)

    def _inverse(self, y: Any) -> Any:
        parts = y[..., :-1]
        left = (1 - parts.cumsum(-1)).clamp(min=tl_core.finfo(y.dtype).tiny)
        return parts.log() - left.log() + _shifts(parts)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # triangular: each element's own derivative is what remains before it times s (1 - s), that is y (1 - s)
        x = x - _shifts(x)
        return (y[..., :-1].log() - _softplus(x)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return Size((*_at_least_vector(shape)[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        return Size((*_at_least_vector(shape)[:-1], shape[-1] - 1))


def _clamped_sigmoid(x: Tensor) -> Tensor:
    info = tl_core.finfo(x.dtype)
    return x.sigmoid().clamp(info.tiny, 1 - info.eps)


def _shifts(x: Tensor) -> Tensor:
    """log(n), log(n - 1), …, log(1) for vectors of n elements."""
    n = x.shape[-1]
    return tl_core.arange(n, 0, -1, dtype=x.dtype, device=x.device).log()


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones with a positive diagonal: the exponential of the diagonal.

    Elements above the diagonal are left out.

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones: L L^T, with L as of `LowerCholeskyTransform`.

    Args:
        cache_size (int): the size of the cache.
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(tl_core.linalg.cholesky(y))


class CatTransform(Transform):
    """Transforms of parts that `cat` joins along a dimension.

    Args:
        tseq: the transforms.
        dim (int): the dimension along which the parts lie.
        lengths: the length of each part; 1 where it is not given.
        cache_size (int): the size of the cache.

    Example:
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
        """Those of the parts."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """Those of the parts."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


def _transforms(tseq: Sequence[Transform]) -> list[Transform]:
    found = list(tseq)
    for t in found:
        if not isinstance(t, Transform):
            raise TypeError(f"tseq must hold transforms, but got {type(t).__name__}")
    return found


class StackTransform(Transform):
    """Transforms of parts that `stack` joins along a dimension.

    Args:
        tseq: the transforms, one for each index.
        dim (int): the dimension along which the parts lie.
        cache_size (int): the size of the cache.

    Example:
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
        """Those of the parts."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        """Those of the parts."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = F(x), with the cumulative distribution function of a distribution.

    Args:
        distribution (Distribution): the distribution, of single numbers.
        cache_size (int): the size of the cache.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size)
