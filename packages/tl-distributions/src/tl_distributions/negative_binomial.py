"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .parameterization import BinaryParameter
from .utils import SCALAR, _log_sigmoid, broadcast_all

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryParameter, Distribution):
    """The negative binomial distribution: the number of successes before r trials fail.

    Probability: Γ(r + k) / (k! Γ(r)) p^k (1 - p)^r, of k in {0, 1, …}, for any positive number r. A sample is a
    Poisson variable whose rate is a gamma variable.

    Args:
        total_count (Tensor or float): the number r of failures that ends the trials, not negative.
        probs (Tensor): the probability p of success, within [0, 1).
        logits (Tensor): the log-odds of success, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.

    Example:
        >>> NegativeBinomial(3.0, tl_core.tensor(0.5)).mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: Any = constraints.nonnegative_integer
    _parameter_event_dims: ClassVar[dict[str, int]] = {"total_count": 0, "probs": 0, "logits": 0}
    _copied_attributes = ("_from_probs",)

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        count, value = broadcast_all(total_count, self._choose(probs, logits))
        self.total_count = count.type_as(value)
        self._keep(value)
        super().__init__(value.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: r p / (1 - p)."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        """The mode: the integer below (r - 1) p / (1 - p), or 0."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance: r p / (1 - p)²."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with tl_core.no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return tl_core.poisson(rates.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        r = self.total_count
        powers = r * _log_sigmoid(-self.logits) + value * _log_sigmoid(self.logits)
        choose = (r + value).lgamma() - (1 + value).lgamma() - r.lgamma()
        # without trials there is one way to have no success
        return powers + choose.masked_fill(r + value == 0, 0.0)
