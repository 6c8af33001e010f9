"""The Pareto distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .constraints import Constraint
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto distribution of type 1.

    Density: p(x) = alpha scale^alpha / x^(alpha + 1), of x > scale.

    Args:
        scale (Tensor or float): the smallest value, positive.
        alpha (Tensor or float): the shape, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is not positive.

    Example:
        >>> Pareto(1.0, 2.0).mean
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"scale": 0, "alpha": 0}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        """The numbers from scale on."""
        return constraints.greater_than_eq(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.alpha.log() - self.scale.log() - (self.alpha + 1) * (value / self.scale).log()

    @property
    def mean(self) -> Tensor:
        """The mean: alpha scale / (alpha - 1), or inf where alpha ≤ 1."""
        mean = self.alpha * self.scale / (self.alpha - 1)
        return mean.masked_fill(self.alpha <= 1, tl_core.inf)

    @property
    def mode(self) -> Tensor:
        """The mode: scale."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance: alpha scale² / ((alpha - 1)² (alpha - 2)), or inf where alpha ≤ 2."""
        variance = self.alpha * (self.scale / (self.alpha - 1)).square() / (self.alpha - 2)
        return variance.masked_fill(self.alpha <= 2, tl_core.inf)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
