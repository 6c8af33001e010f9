"""The gamma distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, special
from tl_core.functions import sampling

from . import constraints
from .exp_family import ExponentialFamily
from .utils import SCALAR, _expand_to, broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Density: p(x) = rate^a x^(a - 1) exp(-rate x) / Γ(a), of x ≥ 0, with a = concentration.

    Samples of the standard distribution are drawn by rejection (Marsaglia and Tsang, A simple method for generating
    gamma variables, 2000). Their gradient comes from the cumulative distribution function F, dx/da = -(∂F/∂a) / p(x):
    implicit reparametrization (Figurnov, Mohamed and Mnih, Implicit reparameterization gradients, 2018).

    Args:
        concentration (Tensor or float): the shape, positive, often called alpha.
        rate (Tensor or float): the inverse of the scale, positive, often called beta.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is not positive.

    Example:
        >>> Gamma(1.0, 2.0).log_prob(tl_core.tensor(0.0)).exp()
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"concentration": 0, "rate": 0}
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: concentration / rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The mode: (concentration - 1) / rate, or 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance: concentration / rate^2."""
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        sample = sampling.standard_gamma(_expand_to(self.concentration, shape)) / self.rate
        # a sample that rounds to 0 would have no log_prob
        return sample.clamp(min=tl_core.finfo(sample.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = tl_core.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return tl_core.xlogy(a, rate) + tl_core.xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + 1).lgamma() - (x + 1) * (-y).log()
