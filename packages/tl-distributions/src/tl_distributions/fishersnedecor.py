"""The F distribution of Fisher and Snedecor."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import SCALAR, _expand_to, broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two independent chi-squared variables, each divided by its degrees of freedom.

    Density: p(x) = (d1/d2)^(d1/2) x^(d1/2 - 1) (1 + d1 x / d2)^(-(d1 + d2)/2) / B(d1/2, d2/2), of x > 0.

    Args:
        df1 (Tensor or float): the degrees of freedom d1 of the numerator, positive.
        df2 (Tensor or float): the degrees of freedom d2 of the denominator, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is not positive.

    Example:
        >>> FisherSnedecor(2.0, 2.0).log_prob(tl_core.tensor(1.0)).exp()
        tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support: Any = constraints.positive
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"df1": 0, "df2": 0}

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: d2 / (d2 - 2), or nan where d2 ≤ 2."""
        df2 = self.df2.masked_fill(self.df2 <= 2, tl_core.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        """The mode: (d1 - 2) / d1 · d2 / (d2 + 2), or nan where d1 ≤ 2."""
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, tl_core.nan)

    @property
    def variance(self) -> Tensor:
        """The variance: 2 d2^2 (d1 + d2 - 2) / (d1 (d2 - 2)^2 (d2 - 4)), or nan where d2 ≤ 4."""
        df2 = self.df2.masked_fill(self.df2 <= 4, tl_core.nan)
        return 2 * (df2 / (df2 - 2)).square() * (self.df1 + df2 - 2) / (self.df1 * (df2 - 4))

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        numerator, denominator = (
            Gamma(0.5 * df, 0.5 * df, validate_args=False).rsample()
            for df in (_expand_to(self.df1, shape), _expand_to(self.df2, shape))
        )
        tiny = tl_core.finfo(numerator.dtype).tiny
        return (numerator / denominator.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = 0.5 * self.df1, 0.5 * self.df2
        ratio = self.df1 / self.df2
        constant = (a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log()
        bounded = (value.reciprocal() + ratio).reciprocal()  # value / (1 + ratio value), also at infinity
        return constant + tl_core.xlogy(a - 1, bounded) - (b + 1) * (ratio * value).log1p()
