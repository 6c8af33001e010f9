"""The uniform distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, broadcast_all, holds

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Density: p(x) = 1 / (high - low), of x in [low, high).

    Args:
        low (Tensor or float): the lower end, which belongs to the range.
        high (Tensor or float): the upper end, above `low`, which does not.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: low is not below high.

    Example:
        >>> Uniform(0.0, 4.0).log_prob(tl_core.tensor(1.0)).exp()
        tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {
        "low": constraints.dependent(is_discrete=False, event_dim=0),
        "high": constraints.dependent(is_discrete=False, event_dim=0),
    }
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"low": 0, "high": 0}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not self.low.is_meta:
            valid = self.low < self.high
            if not holds(valid):
                raise ValueError(
                    f"Uniform is not defined when low >= high: expected parameter low of distribution {self!r} to "
                    f"satisfy the constraint LessThan(upper_bound=high){self._first_empty(valid)}"
                )

    def _first_empty(self, valid: Tensor) -> str:
        """The first interval without numbers, for an error. An example of a `vmap` has none to show."""
        if valid._hides_batch():
            return ""
        first = tuple((~valid).nonzero()[0].tolist())
        return f", but found low {self.low[first].item()} and high {self.high[first].item()}"

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The range from low to high."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The mean: (low + high) / 2."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """nan: all values are equally likely."""
        return tl_core.full_like(self.low, tl_core.nan)

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: (high - low) / √12."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """The variance: (high - low)² / 12."""
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        unit = tl_core.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + unit * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        outside = (value < self.low) | (value >= self.high)
        return (-(self.high - self.low).log()).expand(outside.shape).masked_fill(outside, -tl_core.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return self.low + value * (self.high - self.low)

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
