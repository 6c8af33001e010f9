"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace, or double exponential, distribution.

    Density: p(x) = exp(-|x - loc| / scale) / (2 scale), of real x.

    Args:
        loc (Tensor or float): the mean.
        scale (Tensor or float): the mean of |x - loc|, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: loc is nan, or scale is not positive.

    Example:
        >>> Laplace(0.0, 1.0).log_prob(tl_core.tensor(0.0)).exp()
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: loc."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance: 2 scale²."""
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: √2 scale."""
        return self.scale * math.sqrt(2)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        # u in (-1, 1): its sign is the side, 1 - |u| is uniform
        u = self.loc.new_empty(self._extended_shape(sample_shape))
        u.uniform_(tl_core.finfo(u.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        tail = 0.5 * (-z.abs()).exp()
        return tl_core.where(z > 0, 1 - tail, tail)

    def icdf(self, value: Tensor) -> Tensor:
        # each tail from its own side, so that small probabilities keep their digits
        upper = value > 0.5
        tail = tl_core.where(upper, 1 - value, value)
        distance = self.scale * (2 * tail).log()
        return self.loc + tl_core.where(upper, -distance, distance)

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
