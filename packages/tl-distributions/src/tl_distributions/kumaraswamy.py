"""The Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, special

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution, which is close to the beta distribution and has a closed quantile function.

    Density: p(x) = a b x^(a - 1) (1 - x^a)^(b - 1), of x in [0, 1], with a = concentration1, b = concentration0.

    Args:
        concentration1 (Tensor or float): a, positive.
        concentration0 (Tensor or float): b, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is not positive.

    Example:
        >>> Kumaraswamy(1.0, 1.0).mean
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support: Any = constraints.unit_interval
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            tl_core.zeros_like(self.concentration0),
            tl_core.ones_like(self.concentration0),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        rest = special.xlog1py(b - 1, -value.pow(a))
        return a.log() + b.log() + tl_core.xlogy(a - 1, value) + rest

    def _moment(self, n: int) -> Tensor:
        """The mean of x^n: b B(1 + n / a, b)."""
        a, b = self.concentration1, self.concentration0
        shifted = 1 + n / a
        return (b.log() + shifted.lgamma() + b.lgamma() - (shifted + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        """The mean: b B(1 + 1/a, b)."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The mode: ((a - 1) / (a b - 1))^(1/a), or nan where a < 1 or b < 1, and where both are 1."""
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return mode.masked_fill((a < 1) | (b < 1), tl_core.nan)

    @property
    def variance(self) -> Tensor:
        """The variance: the mean of x² less the square of the mean."""
        return self._moment(2) - self.mean.square()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
