"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .constraints import Constraint
from .distribution import Distribution
from .utils import SCALAR

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The multinomial distribution: how often each of K classes comes in n independent trials.

    Probability: n! / Π k_i! · Π p_i^k_i, of counts k_i ≥ 0 with Σ k_i = n. `log_prob` takes any number of trials.

    Args:
        total_count (int): the number n of trials, the same in the whole batch.
        probs (Tensor): relative probabilities of the classes along the last dimension, before normalization.
        logits (Tensor): unnormalized log probabilities, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.
        NotImplementedError: total_count is no int.

    Example:
        >>> Multinomial(2, tl_core.ones(2)).log_prob(tl_core.tensor([1.0, 1.0])).exp()
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    _copied_attributes = ("total_count",)

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"total_count must be an int, the same in the whole batch, but got {type(total_count).__name__}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args=False)
        batch, event = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(batch, event, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new._categorical = self._categorical.expand(batch_shape)

    @property
    def _derived_parameter(self) -> str:
        return self._categorical._derived_parameter

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Constraint:
        """Counts whose sum is n."""
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The log probabilities of the classes."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was passed."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        """The mean: n p."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """The variance of each count: n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with tl_core.no_grad():
            classes = self._categorical.sample(Size((self.total_count, *sample_shape))).movedim(0, -1)
            counts = self._categorical._param.new_zeros(self._extended_shape(sample_shape))
            return counts.scatter_add_(-1, classes, tl_core.ones_like(classes, dtype=counts.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        never = (value == 0) & (self.logits == -tl_core.inf)
        powers = (self.logits.masked_fill(never, 0.0) * value).sum(-1)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + powers

    def entropy(self) -> Tensor:
        """The entropy: -log n! + n H(p) + Σ_i E[log k_i!], where each k_i is binomial."""
        n = self.total_count
        each = Binomial(n, self.probs, validate_args=False)
        counts = each.enumerate_support(False)[1:]
        factorials = (each.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + factorials

    def __repr__(self) -> str:
        return f"{type(self).__name__}(total_count: {self.total_count}, {str(self._categorical).partition('(')[2]}"
