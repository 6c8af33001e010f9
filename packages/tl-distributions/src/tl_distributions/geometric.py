"""The geometric distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .bernoulli import _cross_entropy
from .distribution import Distribution
from .parameterization import BinaryParameter
from .utils import SCALAR, _expand_to, _log_sigmoid, holds, plain_value

__all__ = ["Geometric"]


class Geometric(BinaryParameter, Distribution):
    """The geometric distribution: how many independent trials fail before the first that succeeds.

    Probability: (1 - p)^k p, of k in {0, 1, …}. `Tensor.geometric_` counts the trial that succeeds, too.

    Args:
        probs (Tensor or float): the probability p of success, within (0, 1].
        logits (Tensor or float): the log-odds of success, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.

    Example:
        >>> Geometric(0.5).log_prob(tl_core.tensor(1.0)).exp()
        tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.nonnegative_integer
    _parameter_event_dims: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _copied_attributes = ("_from_probs",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        value = self._set_parameter(probs, logits)
        super().__init__(value.shape, validate_args=validate_args)
        if self._validate_args and self._from_probs and not value.is_meta:
            positive = constraints.positive.check(value)
            if not holds(positive):
                first = plain_value(value)[~plain_value(positive)].flatten()[0].item()
                raise ValueError(
                    f"Expected parameter probs of distribution {self!r} to be positive, but found {first}"
                )

    @property
    def mean(self) -> Tensor:
        """The mean: (1 - p) / p."""
        return self.probs.reciprocal() - 1

    @property
    def mode(self) -> Tensor:
        """The mode: 0."""
        return tl_core.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """The variance: (1 - p) / p^2."""
        return (1 - self.probs) / self.probs.square()

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tl_core.no_grad():
            probs = _expand_to(self.probs, shape)
            u = probs.new_empty(shape).uniform_(tl_core.finfo(probs.dtype).tiny, 1)
            return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        if self._from_probs:
            certain = (self.probs == 1) & (value == 0)
            return value * (-tl_core.where(certain, 0, self.probs)).log1p() + self.probs.log()
        miss = _log_sigmoid(-self.logits)
        return value * tl_core.where(miss.isinf() & (value == 0), 0, miss) + _log_sigmoid(self.logits)

    def entropy(self) -> Tensor:
        return _cross_entropy(self.logits, self.probs) / self.probs
