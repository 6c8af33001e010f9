"""Invertible maps between tensors, with the logarithms of their Jacobian determinants.

>>> t = ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])
>>> x = tl_core.tensor([2.0, 1.0])
>>> tl_core.allclose(t.inv(t(x)), x)
True
"""

from __future__ import annotations

import math
from typing import Any

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .constraints import Constraint
from .joined_transforms import CatTransform, StackTransform
from .transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _widen,
    identity_transform,
)
from .transform import _InverseTransform as _InverseTransform
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


class ExpTransform(Transform):
    """y = exp(x).

    Args:
        cache_size (int): the size of the cache.

    Example:
        >>> import tl_core
        >>> ExpTransform()(tl_core.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        >>> ExpTransform().log_abs_det_jacobian(tl_core.tensor(2.0), None)
        tensor(2.)
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

    Example:
        >>> import tl_core
        >>> PowerTransform(tl_core.tensor(2.0)).inv(tl_core.tensor([4.0, 9.0]))
        tensor([2., 3.])
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

    Example:
        >>> import tl_core
        >>> SigmoidTransform()(tl_core.tensor([0.0])), SigmoidTransform().inv(tl_core.tensor([0.5]))
        (tensor([0.5000]), tensor([0.]))
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SigmoidTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

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

    Example:
        >>> import tl_core
        >>> SoftplusTransform()(tl_core.tensor([0.0, 1.0]))
        tensor([0.6931, 1.3133])
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

    Example:
        >>> import tl_core
        >>> TanhTransform()(tl_core.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
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

    Example:
        >>> import tl_core
        >>> AbsTransform()(tl_core.tensor([-2.0, 3.0]))
        tensor([2., 3.])
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
        loc (Tensor or float): the summand.
        scale (Tensor or float): the factor, not 0.
        event_dim (int): how many dimensions make an event.
        cache_size (int): the size of the cache.

    Example:
        >>> import tl_core
        >>> fahrenheit = AffineTransform(loc=32.0, scale=1.8)
        >>> fahrenheit(tl_core.tensor([0.0, 100.0])), fahrenheit.inv(tl_core.tensor([50.0]))
        (tensor([ 32., 212.]), tensor([10.]))
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        """Real numbers, or tensors of them."""
        return _widen(constraints.real, self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        """Real numbers, or tensors of them."""
        return _widen(constraints.real, self._event_dim)

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
        batch_shape = x.shape[: x.dim() - self._event_dim]
        return _sum_rightmost(each.expand(x.shape), self._event_dim).expand(batch_shape)

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
    that the elements to its left leave of a row of length 1, and the diagonal is the rest of the row (Lewandowski,
    Kurowicka and Joe, Generating random correlation matrices based on vines and extended onion method, 2009).

    Args:
        cache_size (int): the size of the cache.

    Example:
        >>> import tl_core
        >>> factor = CorrCholeskyTransform()(tl_core.tensor([0.5]))
        >>> (factor @ factor.T).diagonal()
        tensor([1., 1.])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        r = vec_to_tril_matrix(_inside(x.tanh()), diag=-1)
        left = (1 - r * r).cumprod(-1).sqrt()  # the remainder of a row after each element
        before = tl_core.cat([tl_core.ones_like(left[..., :1]), left[..., :-1]], -1)
        identity = tl_core.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return (r + identity) * before

    def _inverse(self, y: Any) -> Any:
        left = 1 - (y * y).cumsum(-1)
        before = tl_core.cat([tl_core.ones_like(left[..., :1]), left[..., :-1]], -1)
        r = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return r.log1p() / 2 - (-r).log1p() / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # an element is r times the square root of the remainder before it, and dr/dx = 1 - tanh(x)**2
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

    Example:
        >>> import tl_core
        >>> SoftmaxTransform()(tl_core.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
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

    A sigmoid of each coordinate is the fraction that is broken off the remainder of a stick of length 1. Coordinate k
    of n is shifted by log(n - k), so that 0 goes to the centre.

    Args:
        cache_size (int): the size of the cache.

    Example:
        >>> import tl_core
        >>> shares = StickBreakingTransform()(tl_core.zeros(2))
        >>> shares
        tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = Transform.__hash__

    def _call(self, x: Any) -> Any:
        broken = _clipped_sigmoid(x - _shifts(x))
        left = (1 - broken).cumprod(-1)
        one = tl_core.ones_like(left[..., :1])
        return tl_core.cat([broken, one], -1) * tl_core.cat([one, left], -1)

    def _inverse(self, y: Any) -> Any:
        parts = y[..., :-1]
        left = (1 - parts.cumsum(-1)).clamp(min=tl_core.finfo(y.dtype).tiny)
        return parts.log() - left.log() + _shifts(parts)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # triangular: each element's own derivative is the remainder before it times s (1 - s), that is y (1 - s)
        x = x - _shifts(x)
        return (y[..., :-1].log() - _softplus(x)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return Size((*_at_least_vector(shape)[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        return Size((*_at_least_vector(shape)[:-1], shape[-1] - 1))


def _clipped_sigmoid(x: Tensor) -> Tensor:
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

    Example:
        >>> import tl_core
        >>> LowerCholeskyTransform()(tl_core.tensor([[0.0, 9.0], [5.0, 0.0]]))
        tensor([[1., 0.],
                [5., 1.]])
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

    Example:
        >>> import tl_core
        >>> PositiveDefiniteTransform()(tl_core.tensor([[0.0, 0.0], [2.0, 0.0]]))
        tensor([[1., 2.],
                [2., 5.]])
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


class CumulativeDistributionTransform(Transform):
    """y = F(x), with the cumulative distribution function of a distribution.

    Args:
        distribution (Distribution): the distribution, of single numbers.
        cache_size (int): the size of the cache.

    Example:
        >>> import tl_core
        >>> from tl_distributions import Uniform
        >>> CumulativeDistributionTransform(Uniform(0.0, 4.0))(tl_core.tensor([1.0, 3.0]))
        tensor([0.2500, 0.7500])
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
