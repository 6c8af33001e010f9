"""The categorical distribution of one-hot vectors."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import SCALAR

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """The distribution of one of K classes, as a vector with a 1 in its place and zeros elsewhere.

    Probability: Π p_i^x_i. The parameters are the parameters of `Categorical`.

    Args:
        probs (Tensor): relative probabilities of the classes along the last dimension, before normalization.
        logits (Tensor): unnormalized log probabilities, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range or has no dimension.

    Example:
        >>> OneHotCategorical(tl_core.tensor([1.0, 3.0])).mode
        tensor([0., 1.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.one_hot
    has_enumerate_support = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits, validate_args=False)
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
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The log probabilities of the classes."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was passed."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        """The mean: the probabilities."""
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        """The likeliest class."""
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        """The variance of each element: p (1 - p)."""
        return self.probs * (1 - self.probs)

    def _one_hot(self, index: Tensor) -> Tensor:
        zeros = self._param.new_zeros((*index.shape, *self._event_shape))
        return zeros.scatter_(-1, index.unsqueeze(-1), 1.0)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        with tl_core.no_grad():
            return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = tl_core.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((n, *[1] * len(self._batch_shape), n))
        return values.expand((n, *self._batch_shape, n)) if expand else values

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._categorical).partition('(')[2]}"


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the gradient of the probabilities.

    The straight-through estimator (Bengio, Léonard and Courville, Estimating or propagating gradients through
    stochastic neurons for conditional computation, 2013): a biased gradient of low variance.

    Args:
        probs (Tensor): relative probabilities of the classes along the last dimension, before normalization.
        logits (Tensor): unnormalized log probabilities, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Example:
        >>> import tl_core
        >>> sample = OneHotCategoricalStraightThrough(tl_core.tensor([0.2, 0.8])).rsample()
        >>> sample.shape, float(sample.sum())
        (torch.Size([2]), 1.0)
    """

    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        sample = self.sample(sample_shape)
        return sample + (self.probs - self.probs.detach())
