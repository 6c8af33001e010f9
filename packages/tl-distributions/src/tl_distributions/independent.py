"""Batches of distributions taken as one distribution of larger events."""

from __future__ import annotations

from typing import Any, ClassVar

from tl_core import Size, Tensor

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .utils import SCALAR, _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last batch dimensions become dimensions of the event.

    Density: the product of the base's densities over these dimensions.

    Args:
        base_distribution (Distribution): the distribution whose batch dimensions become event dimensions.
        reinterpreted_batch_ndims (int): how many dimensions, at least 0.
        validate_args (bool): whether values are checked.

    Raises:
        ValueError: the base has fewer batch dimensions.

    Example:
        >>> import tl_core
        >>> from tl_distributions import Normal
        >>> diagonal = Independent(Normal(tl_core.zeros(3), tl_core.ones(3)), 1)
        >>> diagonal.batch_shape, diagonal.event_shape
        (torch.Size([]), torch.Size([3]))
    """

    arg_constraints: ClassVar[Any] = {}
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    _copied_attributes = ("reinterpreted_batch_ndims",)

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        event = batch[cut:] + base_distribution.event_shape
        super().__init__(batch[:cut], event, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        new.base_dist = self.base_dist.expand(
            batch_shape + self._event_shape[: self.reinterpreted_batch_ndims]
        )

    @property
    def has_rsample(self) -> bool:
        """As of the base."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:
        """As of the base, if no dimension is reinterpreted."""
        return self.reinterpreted_batch_ndims == 0 and bool(self.base_dist.has_enumerate_support)

    @constraints.dependent_property
    def support(self) -> Constraint:
        """The base's support, of larger events."""
        support: Any = self.base_dist.support
        more = self.reinterpreted_batch_ndims
        return constraints.independent(support, more) if more else support

    @property
    def mean(self) -> Tensor:
        """The base's mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The base's mode."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The base's variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError(
                "Enumeration over cartesian product is not implemented: reinterpreted_batch_ndims must be 0, but is "
                f"{self.reinterpreted_batch_ndims}"
            )
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
