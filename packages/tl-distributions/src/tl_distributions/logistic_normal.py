"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from tl_core import Tensor

from . import constraints
from .independent import Independent
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """The stick-breaking image of a vector of independent normal variables: a distribution on the simplex.

    Args:
        loc (Tensor or float): the means of the n variables.
        scale (Tensor or float): their standard deviations, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: loc is nan, or scale is not positive.

    Example:
        >>> LogisticNormal(tl_core.zeros(2), tl_core.ones(2)).event_shape
        torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.simplex
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {}
    base_dist: Independent

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def _normal(self) -> Normal:
        normal = self.base_dist.base_dist
        assert isinstance(normal, Normal)
        return normal

    @property
    def loc(self) -> Tensor:
        """The means of the normal variables."""
        return self._normal.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal variables."""
        return self._normal.scale
