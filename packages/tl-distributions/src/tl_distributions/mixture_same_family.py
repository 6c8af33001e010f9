"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .categorical import Categorical
from .constraints import Constraint
from .distribution import Distribution
from .utils import SCALAR

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture whose components are the last batch dimension of one distribution.

    Density: p(x) = Σ_k w_k p_k(x), with the weights w_k of a categorical distribution.

    Args:
        mixture_distribution (Categorical): the weights. Its batch shape is empty, or the batch shape of the components
            without the last dimension.
        component_distribution (Distribution): the components, along its last batch dimension.
        validate_args (bool): whether values are checked.

    Raises:
        ValueError: one is of another type, or their shapes do not fit.

    Example:
        >>> from tl_distributions import Normal
        >>> weights = Categorical(tl_core.tensor([0.25, 0.75]))
        >>> mixture = MixtureSameFamily(weights, Normal(tl_core.tensor([0.0, 4.0]), 1.0))
        >>> mixture.mean
        tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {}
    has_rsample = False
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    _copied_attributes = ("_num_component", "_event_ndims")

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "mixture_distribution must be a Categorical distribution, but got "
                f"{type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"component_distribution must be a Distribution, but got {type(component_distribution).__name__}"
            )
        batch = component_distribution.batch_shape[:-1]
        _check_batch(mixture_distribution.batch_shape, batch)
        count = mixture_distribution.logits.shape[-1]
        if count != component_distribution.batch_shape[-1]:
            raise ValueError(
                f"mixture_distribution has {count} components, but component_distribution's last batch dimension has "
                f"{component_distribution.batch_shape[-1]}"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch, event, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        components = Size((*batch_shape, self._num_component))
        new._component_distribution = self._component_distribution.expand(components)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)

    @constraints.dependent_property
    def support(self) -> Constraint:
        """The support of the components."""
        support = self._component_distribution.support
        assert support is not None
        return constraints.MixtureSameFamilyConstraint(support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The weights."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """The weights, with the event's dimensions behind them."""
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *[1] * self._event_ndims))

    def _weighted_sum(self, each: Tensor) -> Tensor:
        """The weighted sum of a property of the components."""
        return (self._weights() * each).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        """The mean of the components' means."""
        return self._weighted_sum(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances and the variance of their means."""
        means = self._component_distribution.mean
        apart = means - self.mean.unsqueeze(-1 - self._event_ndims)
        return self._weighted_sum(self._component_distribution.variance + apart.square())

    def cdf(self, x: Tensor) -> Tensor:
        return (
            self._component_distribution.cdf(self._pad_mixture_dimensions(x))
            * self._mixture_distribution.probs
        ).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        each = self._component_distribution.log_prob(self._pad_mixture_dimensions(x))
        return (each + self._mixture_distribution.logits).logsumexp(-1)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with tl_core.no_grad():
            component = self._mixture_distribution.sample(sample_shape)
            samples = self._component_distribution.sample(sample_shape)
            # the component's dimension precedes the dimensions of the event
            lead = len(samples.shape) - 1 - self._event_ndims
            component = component.expand(samples.shape[:lead])
            index = component.reshape((*component.shape, *[1] * (1 + self._event_ndims)))
            index = index.expand((*samples.shape[:lead], 1, *self._event_shape))
            return samples.gather(lead, index).squeeze(lead)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """A value with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"


def _check_batch(weights: Size, components: Size) -> None:
    if len(weights) == 0:
        return
    fits = len(weights) == len(components) and all(w in (1, c) for w, c in zip(weights, components))
    if not fits:
        raise ValueError(
            f"the batch shape of mixture_distribution, {weights}, does not fit that of component_distribution without "
            f"its last dimension, {components}"
        )
