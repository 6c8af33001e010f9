"""Distributions of transformed variables."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import SCALAR, _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of y = f(x), where x has the base distribution and f is a composition of transforms.

    Density: log p(y) = log p(x) - log |det dy/dx|. An event has as many dimensions as the base distribution and the
    transforms together need, since a transform may bind elements together.

    Args:
        base_distribution (Distribution): the distribution of x.
        transforms (Transform or list): a transform, or several that are applied one after the other.
        validate_args (bool): whether values are checked.

    Raises:
        ValueError: `transforms` holds something else, or the base has fewer dimensions than they need.

    Example:
        >>> from tl_distributions import AffineTransform, SigmoidTransform, Uniform
        >>> logistic = TransformedDistribution(Uniform(0.0, 1.0), [SigmoidTransform().inv, AffineTransform(1.0, 2.0)])
        >>> logistic.log_prob(tl_core.tensor(1.0)).exp()
        tensor(0.1250)
    """

    arg_constraints: ClassVar[Any] = {}
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    _copied_attributes: ClassVar[tuple[str, ...]] = ("transforms",)

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        self.transforms = _list_transforms(transforms)
        composed = ComposeTransform(self.transforms)
        base_dims, domain_dims = len(base_distribution.event_shape), composed.domain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < domain_dims:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {domain_dims}, but got {base_shape}."
            )
        output_shape = composed.forward_shape(base_shape)
        input_shape = composed.inverse_shape(output_shape)
        if tuple(input_shape) != tuple(base_shape):
            batch = input_shape[: len(input_shape) - base_dims]
            base_distribution = base_distribution.expand(batch)
        bound = domain_dims - base_dims
        self.base_dist = Independent(base_distribution, bound) if bound > 0 else base_distribution
        # the transforms may change how many dimensions an event has
        dims = composed.codomain.event_dim + max(base_dims - domain_dims, 0)
        cut = len(output_shape) - dims
        super().__init__(Size(output_shape[:cut]), Size(output_shape[cut:]), validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        super()._expand_into(new, batch_shape)
        shape = batch_shape + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        base_dims = len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - base_dims])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Constraint:
        """The codomain of the last transform, with as many dimensions as an event has."""
        if not self.transforms:
            return self.base_dist.support  # type: ignore[return-value]
        last: Constraint = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    @property
    def has_rsample(self) -> bool:
        """As of the base."""
        return bool(self.base_dist.has_rsample)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Samples of the base, transformed, through which no gradients flow.

        Args:
            sample_shape (Size): how many.

        Returns:
            A tensor of shape sample_shape + batch_shape + event_shape.
        """
        with tl_core.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Samples of the base, transformed, with gradients to the parameters of both.

        Args:
            sample_shape (Size): how many.

        Returns:
            A tensor of shape sample_shape + batch_shape + event_shape.
        """
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        dims = len(self._event_shape)
        y: Any = value
        result: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            result = result - _sum_rightmost(term, dims - transform.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        total: Tensor = result + _sum_rightmost(base, dims - len(self.base_dist.event_shape))
        return total

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample that is not above a value, by way of the base and the transforms' inverses."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile of a probability, by way of the base and the transforms."""
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))

    def _monotonize_cdf(self, probability: Tensor) -> Tensor:
        """1 - p where the transforms decrease."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int):
            return probability if sign == 1 else 1 - probability
        return tl_core.where(sign < 0, 1 - probability, probability)


def _list_transforms(transforms: Any) -> list[Transform]:
    listed = [transforms] if isinstance(transforms, Transform) else transforms
    if not isinstance(listed, list) or not all(isinstance(t, Transform) for t in listed):
        raise ValueError(f"transforms must be a Transform or a list of Transforms, but got {transforms}")
    return listed
