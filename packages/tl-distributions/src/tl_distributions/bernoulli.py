"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .parameterization import BinaryParameter
from .utils import SCALAR, _expand_to, _log_sigmoid, _softplus

__all__ = ["Bernoulli"]


class Bernoulli(BinaryParameter, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability p, 0 with probability 1 - p.

    Probability: p^x (1 - p)^(1 - x), of x in {0, 1}. `log_prob` computes from logits. Logits that come from
    `probs` take probabilities within [eps, 1 - eps] of their type.

    Args:
        probs (Tensor or float): the probability p of 1, within [0, 1].
        logits (Tensor or float): the log-odds log(p / (1 - p)), real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.

    Example:
        >>> Bernoulli(0.25).log_prob(tl_core.tensor(1.0)).exp()
        tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.boolean
    has_enumerate_support = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _copied_attributes = ("_from_probs",)
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        value = self._set_parameter(probs, logits)
        super().__init__(value.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: p."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likelier of 0 and 1, or nan where both are equally likely."""
        mode = (self.probs >= 0.5).to(self.probs)
        return mode.masked_fill(self.probs == 0.5, tl_core.nan)

    @property
    def variance(self) -> Tensor:
        """The variance: p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tl_core.no_grad():
            return tl_core.bernoulli(_expand_to(self.probs, shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        result = -_cross_entropy(self.logits, value)
        if self._from_probs:  # these logits are finite
            return result
        certain = _log_sigmoid(self.logits * (2 * value.to(self.logits.dtype) - 1))
        return certain.where(self.logits.isinf(), result)

    def entropy(self) -> Tensor:
        result = _cross_entropy(self.logits, self.probs)
        return result if self._from_probs else result.masked_fill(self.logits.isinf(), 0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return _enumerate(2, self, self._param, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return _softplus(x)


def _cross_entropy(logits: Tensor, value: Tensor) -> Tensor:
    """-log p(value) of a Bernoulli variable, exact where value is 0 or 1."""
    if logits.shape != value.shape:
        logits, value = tl_core.broadcast_tensors(logits, value)
    return -_log_sigmoid(-logits).lerp(_log_sigmoid(logits), value.to(logits.dtype))


def _enumerate(count: int, distribution: Any, like: Tensor, expand: bool) -> Tensor:
    """0, 1, …, count - 1 along dimension 0, for each distribution of a batch of single numbers."""
    batch_shape = distribution._batch_shape
    values = tl_core.arange(count, dtype=like.dtype, device=like.device)
    values = values.reshape((-1,) + (1,) * len(batch_shape))
    return values.expand((-1, *batch_shape)) if expand else values
