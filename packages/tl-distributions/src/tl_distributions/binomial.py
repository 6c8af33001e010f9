"""The binomial distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .bernoulli import _enumerate
from .distribution import Distribution
from .parameterization import BinaryParameter
from .utils import SCALAR, _expand_to, _log_sigmoid, broadcast_all

__all__ = ["Binomial"]


class Binomial(BinaryParameter, Distribution):
    """The binomial distribution: how many of n independent trials succeed.

    Probability: C(n, k) p^k (1 - p)^(n - k), of k in {0, …, n}.

    Args:
        total_count (Tensor or int): the number n of trials, not negative; it broadcasts with the other parameter.
        probs (Tensor): the probability p of success, within [0, 1].
        logits (Tensor): the log-odds of success, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.

    Example:
        >>> Binomial(2, tl_core.tensor(0.5)).log_prob(tl_core.tensor(1.0)).exp()
        tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"total_count": 0, "probs": 0, "logits": 0}
    _copied_attributes = ("_from_probs",)

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        parameter = self._choose(probs, logits)
        count, value = broadcast_all(total_count, parameter)
        self.total_count = count.type_as(value)
        self._keep(value)
        super().__init__(value.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers from 0 to n."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """The mean: n p."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The mode: the integer below (n + 1) p, at most n."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        """The variance: n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tl_core.no_grad():
            return tl_core.binomial(_expand_to(self.total_count, shape), _expand_to(self.probs, shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        success, failure = _log_sigmoid(self.logits), _log_sigmoid(-self.logits)
        powers = value * success + (self.total_count - value) * failure
        return powers + _log_choose(self.total_count, value)

    def entropy(self) -> Tensor:
        """The entropy, a sum over all counts. The whole batch must have one number of trials."""
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(
                "the number of trials must be the same in the whole batch, but total_count has several values"
            )
        return _enumerate(count + 1, self, self._param, expand)


def _log_choose(n: Tensor, k: Tensor) -> Tensor:
    """The logarithm of the binomial coefficient."""
    return (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()
