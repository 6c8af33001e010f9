"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, special

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, _expand_to, broadcast_all, holds, lazy_property

__all__ = ["VonMises"]

_UNIFORM_BELOW = 1e-5  # from here on the series of r in κ is exact in double precision


class VonMises(Distribution):
    """The von Mises distribution of angles.

    Density: p(x) = exp(κ cos(x - loc)) / (2π I0(κ)), of angles x, with κ = concentration and the modified Bessel
    function I0 (DLMF 10.25.2). Angles are taken modulo 2π; samples are within [-π, π).

    Args:
        loc (Tensor or float): the mean direction, an angle in radians.
        concentration (Tensor or float): κ, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: loc is nan, or the concentration is not positive.

    Example:
        >>> VonMises(0.0, 1.0).log_prob(tl_core.tensor(0.0)).exp()
        tensor(0.3417)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support: Any = constraints.real
    has_rsample = False
    _parameter_event_dims: ClassVar[dict[str, int]] = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # cos(d) - 1 = -2 sin²(d / 2), beside I0(κ) exp(-κ)
        half = (0.5 * (value - self.loc)).sin()
        scaled = special.i0e(self.concentration)
        return -2 * self.concentration * half * half - scaled.log() - math.log(2 * math.pi)

    @property
    def mean(self) -> Tensor:
        """The circular mean: loc."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance: 1 - I1(κ) / I0(κ)."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        """Samples by rejection from a wrapped Cauchy distribution, in double precision.

        Best and Fisher, Efficient simulation of the von Mises distribution, Applied Statistics 28, 1979.

        Args:
            sample_shape (Size): how many.

        Returns:
            Angles within [-π, π), of shape sample_shape + batch_shape.
        """
        shape = self._extended_shape(sample_shape)
        with tl_core.no_grad():
            loc = self.loc.double()
            kappa = _expand_to(self.concentration.double(), shape)
            angles = _sample_centred(kappa, _proposal(kappa))
            return ((angles + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


def _proposal(kappa: Tensor) -> Tensor:
    """The parameter r of the wrapped Cauchy distribution that bounds the density most closely."""
    tau = 1 + (1 + 4 * kappa.square()).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
    r = (1 + rho.square()) / (2 * rho)
    return tl_core.where(kappa < _UNIFORM_BELOW, kappa.reciprocal() + kappa, r)


def _sample_centred(kappa: Tensor, r: Tensor) -> Tensor:
    """Samples of mean direction 0."""
    angles = tl_core.empty_like(kappa)
    is_final = tl_core.zeros_like(kappa, dtype=tl_core.bool)
    while not holds(is_final):
        u = tl_core.rand((3, *kappa.shape), dtype=kappa.dtype, device=kappa.device)
        z = (math.pi * u[0]).cos()
        f = (1 + r * z) / (r + z)
        c = kappa * (r - f)
        accepted = (c * (2 - c) > u[1]) | ((c / u[1]).log() + 1 - c >= 0)
        candidates = (u[2] - 0.5).sign() * f.clamp(-1, 1).acos()
        angles = tl_core.where(accepted, candidates, angles)
        is_final = is_final | accepted
    return angles
