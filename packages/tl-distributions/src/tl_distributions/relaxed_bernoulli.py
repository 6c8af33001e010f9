"""Bernoulli variables relaxed to numbers within (0, 1), whose samples have gradients."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .distribution import Distribution
from .parameterization import BinaryParameter
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import SCALAR, _softplus, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryParameter, Distribution):
    """The logit of a relaxed Bernoulli variable: a logistic variable of location η / T and scale 1 / T.

    Density: p(x) = T exp(η - T x) / (1 + exp(η - T x))², of real x, with the log-odds η and the temperature T
    (Maddison, Mnih and Teh, The Concrete distribution, 2017; Jang, Gu and Poole, Categorical reparameterization with
    Gumbel-softmax, 2017).

    Args:
        temperature (Tensor): T, positive.
        probs (Tensor or float): the probability of 1, within [0, 1].
        logits (Tensor or float): the log-odds η, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.

    Example:
        >>> LogitRelaxedBernoulli(tl_core.tensor(1.0), logits=0.0).log_prob(tl_core.tensor(0.0)).exp()
        tensor(0.2500)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.real
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"probs": 0, "logits": 0}
    _copied_attributes = ("_from_probs", "temperature")

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        value = self._set_parameter(probs, logits)
        super().__init__(value.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(tl_core.rand(shape, dtype=probs.dtype, device=probs.device))
        logistic = u.log() - (-u).log1p()
        return (logistic + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        difference = self.logits - value * self.temperature
        return tl_core.as_tensor(self.temperature).log() + difference - 2 * _softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """A Bernoulli variable relaxed to numbers within (0, 1), whose samples have gradients.

    Density: `LogitRelaxedBernoulli`, through a sigmoid. As the temperature falls, samples approach 0 and 1.

    Args:
        temperature (Tensor): the temperature, positive.
        probs (Tensor or float): the probability of 1, within [0, 1].
        logits (Tensor or float): the log-odds, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range.

    Example:
        >>> RelaxedBernoulli(tl_core.tensor(1.0), 0.5).log_prob(tl_core.tensor(0.5)).exp()
        tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=False)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def _derived_parameter(self) -> str:
        return self.base_dist._derived_parameter

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log-odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.base_dist.probs
