"""Categorical variables relaxed to vectors on the simplex, whose samples have gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import SCALAR, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed one-hot variable.

    Density: p(x) = (K - 1)! T^(K - 1) Π_i exp(η_i - T x_i) / (Σ_i exp(η_i - T x_i))^K, of x with Σ exp(x_i) = 1
    (Maddison, Mnih and Teh, The Concrete distribution, 2017; Jang, Gu and Poole, Categorical reparameterization with
    Gumbel-softmax, 2017).

    Args:
        temperature (Tensor): T, positive.
        probs (Tensor): relative probabilities of the classes along the last dimension, before normalization.
        logits (Tensor): unnormalized log probabilities η, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range or has no dimension.

    Example:
        >>> import tl_core
        >>> log_sample = ExpRelaxedCategorical(tl_core.tensor(0.5), probs=tl_core.tensor([0.2, 0.8])).rsample()
        >>> tl_core.allclose(log_sample.exp().sum(), tl_core.tensor(1.0))
        True
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.real_vector
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    _copied_attributes = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits, validate_args=False)
        self.temperature = temperature
        batch, event = self._categorical.batch_shape, self._categorical.param_shape[-1:]
        super().__init__(batch, event, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new._categorical = self._categorical.expand(batch_shape)

    @property
    def _derived_parameter(self) -> str:
        return self._categorical._derived_parameter

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was passed."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The log probabilities of the classes."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(tl_core.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbel = -(-u.log()).log()
        return ((self.logits + gumbel) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self._event_shape[0]
        constant = math.lgamma(k) + (k - 1) * tl_core.as_tensor(self.temperature).log()
        score = self.logits - value * self.temperature
        return score.log_softmax(-1).sum(-1) + constant


class RelaxedOneHotCategorical(TransformedDistribution):
    """A one-hot variable relaxed to vectors on the simplex, whose samples have gradients.

    Density: `ExpRelaxedCategorical`, through an exponential. As the temperature falls, samples approach one-hot
    vectors.

    Args:
        temperature (Tensor): the temperature, positive.
        probs (Tensor): relative probabilities of the classes along the last dimension, before normalization.
        logits (Tensor): unnormalized log probabilities, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range or has no dimension.

    Example:
        >>> RelaxedOneHotCategorical(tl_core.tensor(1.0), tl_core.ones(2)).log_prob(tl_core.tensor([0.5, 0.5])).exp()
        tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.simplex
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    base_dist: ExpRelaxedCategorical

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def _derived_parameter(self) -> str:
        return self.base_dist._derived_parameter

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log probabilities of the classes."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self.base_dist.probs
