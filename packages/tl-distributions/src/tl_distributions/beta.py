"""The beta distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, special

from . import constraints
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution.

    Density: p(x) = x^(a - 1) (1 - x)^(b - 1) / B(a, b), of x in [0, 1], with a = concentration1, b = concentration0.
    `sample` and `rsample` draw from a Dirichlet distribution of two classes, with its gradients.

    Args:
        concentration1 (Tensor or float): a, positive, often called alpha.
        concentration0 (Tensor or float): b, positive, often called beta.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: a parameter is not positive.

    Example:
        >>> Beta(2.0, 2.0).log_prob(tl_core.tensor(0.5)).exp()
        tensor(1.5000)
    """

    arg_constraints: ClassVar[Any] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support: Any = constraints.unit_interval
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"_concentration": 1}
    _mean_carrier_measure = 0

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._concentration = tl_core.stack(broadcast_all(concentration1, concentration0), -1)
        super().__init__(self._concentration.shape[:-1], validate_args=validate_args)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_concentration" not in state:  # a pickle of PyTorch's has the distribution of two classes
            self._concentration = self.__dict__.pop("_dirichlet").concentration

    @property
    def concentration1(self) -> Tensor:
        """The exponent of x, plus one."""
        return self._concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The exponent of 1 - x, plus one."""
        return self._concentration[..., 1]

    @property
    def _dirichlet(self) -> Dirichlet:
        return Dirichlet(self._concentration, validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The mean: a / (a + b)."""
        return self.concentration1 / self._concentration.sum(-1)

    @property
    def mode(self) -> Tensor:
        """The mode: (a - 1) / (a + b - 2), or the end of the interval where the density is highest."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """The variance: a b / ((a + b)^2 (a + b + 1))."""
        total = self._concentration.sum(-1)
        return self._concentration.prod(-1) / (total.square() * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        exponents = tl_core.xlogy(a - 1, value) + special.xlog1py(b - 1, -value)
        return exponents - _log_beta(a, b)

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1 - 1, self.concentration0 - 1

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return _log_beta(x + 1, y + 1)

    def __repr__(self) -> str:
        return _with_concentrations(self)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    """The logarithm of the beta function."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


def _with_concentrations(distribution: Any) -> str:
    from .distribution import _brief

    values = (f"{n}: {_brief(getattr(distribution, n))}" for n in ("concentration1", "concentration0"))
    return f"{type(distribution).__name__}({', '.join(values)})"
