"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, special

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, _expand_to, _standard_normal, broadcast_all

__all__ = ["Normal"]

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Normal(ExponentialFamily):
    """The normal, or Gaussian, distribution.

    Density: p(x) = exp(-((x - loc) / scale)^2 / 2) / (scale √(2π)), of real x.

    Args:
        loc (Tensor or float): the mean.
        scale (Tensor or float): the standard deviation, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: loc is nan, or scale is not positive.

    Example:
        >>> Normal(0.0, 1.0).log_prob(tl_core.tensor(0.0))
        tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"loc": 0, "scale": 0}
    _mean_carrier_measure = 0

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
    def stddev(self) -> Tensor:
        """The standard deviation: scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance: the square of scale."""
        return self.scale.square()

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tl_core.no_grad():
            return tl_core.normal(_expand_to(self.loc, shape), _expand_to(self.scale, shape))

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * _standard_normal(shape, self.loc.dtype, self.loc.device)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return z * z * -0.5 - self.scale.log() - _HALF_LOG_2PI

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((self.loc - value) / (self.scale * math.sqrt(2))).erfc() * 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * special.ndtri(value)

    def entropy(self) -> Tensor:
        return self.scale.log() + (0.5 + _HALF_LOG_2PI)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale.square(), -0.5 * self.scale.square().reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.square() / y + 0.5 * (-math.pi / y).log()
