"""The categorical distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .distribution import Distribution
from .parameterization import ClassParameter
from .utils import SCALAR

__all__ = ["Categorical"]


class Categorical(ClassParameter, Distribution):
    """The distribution of one of K classes.

    Probability: p_x, of x in {0, …, K - 1}. The parameters are normalized along the last dimension, and the attributes
    `probs` and `logits` return them normalized. The dimensions before it are the batch.

    Args:
        probs (Tensor): relative probabilities of the classes, not negative, finite, with a sum that is not 0.
        logits (Tensor): unnormalized log probabilities, real, in place of `probs`.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: both parameters or neither are passed, or one is out of its range or has no dimension.

    Example:
        >>> Categorical(tl_core.tensor([1.0, 3.0])).log_prob(tl_core.tensor(1)).exp()
        tensor(0.7500)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"probs": 1, "logits": 1}
    _copied_attributes = ("_from_probs", "_num_events")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        shape = self._set_parameter(probs, logits).shape
        self._num_events = shape[-1]
        super().__init__(shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers from 0 to K - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        """nan: classes have no mean."""
        return self._unknown()

    @property
    def mode(self) -> Tensor:
        """The likeliest class."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """nan: classes have no variance."""
        return self._unknown()

    def _unknown(self) -> Tensor:
        like = self._param
        return tl_core.full(self._batch_shape, tl_core.nan, dtype=like.dtype, device=like.device)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = Size(sample_shape)
        with tl_core.no_grad():
            if not shape.numel():
                return tl_core.empty(
                    self._extended_shape(shape), dtype=tl_core.long, device=self._param.device
                )
            rows = self.probs.reshape(-1, self._num_events)
            indices = tl_core.multinomial(rows, shape.numel(), True)
            return indices.t().reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index = value.long().unsqueeze(-1)
        logits = self.logits
        if value.shape != logits.shape[:-1]:
            shape = tl_core.broadcast_shapes(value.shape, logits.shape[:-1])
            index, logits = index.expand((*shape, 1)), logits.expand((*shape, self._num_events))
        return logits.gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        # a class of probability 0 contributes 0
        return -(self.logits.clamp(min=tl_core.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = tl_core.arange(self._num_events, dtype=tl_core.long, device=self._param.device)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
