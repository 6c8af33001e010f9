"""The exponential distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Density: p(x) = rate exp(-rate x), of x ≥ 0.

    Args:
        rate (Tensor or float): the inverse of the mean, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: the rate is not positive.

    Example:
        >>> Exponential(2.0).log_prob(tl_core.tensor(0.0)).exp()
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"rate": 0}
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: 1 / rate."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """The mode: 0."""
        return tl_core.zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: 1 / rate."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """The variance: 1 / rate^2."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()
