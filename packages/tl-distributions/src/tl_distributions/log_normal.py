"""The log-normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tl_core import Tensor

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The exponential of a normal variable.

    Density: p(x) = exp(-((log x - loc) / scale)^2 / 2) / (x scale √(2π)), of x > 0.

    Args:
        loc (Tensor or float): the mean of log x.
        scale (Tensor or float): the standard deviation of log x, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: loc is nan, or scale is not positive.

    Example:
        >>> LogNormal(0.0, 1.0).log_prob(tl_core.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    base_dist: Normal

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of log x."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of log x."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """The mean: exp(loc + scale² / 2)."""
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> Tensor:
        """The mode: exp(loc - scale²)."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        """The variance: (exp(scale²) - 1) exp(2 loc + scale²)."""
        squared = self.scale.square()
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.loc + self.scale.log() + 0.5 * (1 + math.log(2 * math.pi))
