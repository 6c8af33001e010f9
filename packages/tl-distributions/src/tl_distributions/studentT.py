"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import SCALAR, _expand_to, _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution: a standard normal variable over the root of a chi-squared variable over df.

    Density: p(x) = Γ((df + 1)/2) / (Γ(df/2) √(π df) scale) (1 + z²/df)^(-(df + 1)/2) with z = (x - loc) / scale, of
    real x.

    Args:
        df (Tensor or float): the degrees of freedom, positive.
        loc (Tensor or float): the location, real.
        scale (Tensor or float): the scale, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is out of its range.

    Example:
        >>> StudentT(2.0).log_prob(tl_core.tensor(0.0)).exp()
        tensor(0.3536)
    """

    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Any = constraints.real
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: loc, or nan where df ≤ 1."""
        return self.loc.masked_fill(self.df <= 1, tl_core.nan)

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance: scale² df / (df - 2), or inf where 1 < df ≤ 2, nan below."""
        variance = self.scale.square() * self.df / (self.df - 2)
        return variance.masked_fill(self.df <= 2, tl_core.inf).masked_fill(self.df <= 1, tl_core.nan)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        chi2 = Chi2(_expand_to(self.df, shape), validate_args=False).rsample()
        return self.loc + self.scale * normal * (chi2 / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * (z * z / self.df).log1p() - self._log_normalizer()

    def _log_normalizer(self) -> Tensor:
        half = 0.5 * self.df
        gammas = half.lgamma() - (half + 0.5).lgamma()
        return self.scale.log() + 0.5 * (self.df.log() + math.log(math.pi)) + gammas

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        return self._log_normalizer() + half * (half.digamma() - (0.5 * self.df).digamma())
