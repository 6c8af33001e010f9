"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from tl_core import Tensor

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution: the sum of the squares of df independent standard normal variables.

    Density: Gamma(df / 2, 1/2), of x ≥ 0.

    Args:
        df (Tensor or float): the degrees of freedom, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: df is not positive.

    Example:
        >>> Chi2(2.0).log_prob(tl_core.tensor(2.0)).exp()
        tensor(0.1839)
    """

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}
    _parameter_event_dims: ClassVar[dict[str, int]] = {"concentration": 0, "rate": 0}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
