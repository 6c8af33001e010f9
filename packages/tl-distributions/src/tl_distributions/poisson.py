"""The Poisson distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, _expand_to, broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The Poisson distribution, of the number of independent events.

    Probability: rate^k exp(-rate) / k!, of k in {0, 1, …}.

    Args:
        rate (Tensor or float): the mean, not negative.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: the rate is negative or nan.

    Example:
        >>> Poisson(2.0).log_prob(tl_core.tensor(0.0))
        tensor(-2.)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support: Any = constraints.nonnegative_integer
    _parameter_event_dims: ClassVar[dict[str, int]] = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: rate."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The mode: the integer below rate."""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """The variance: rate."""
        return self.rate

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with tl_core.no_grad():
            return tl_core.poisson(_expand_to(self.rate, self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tl_core.xlogy(value, self.rate) - self.rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()
