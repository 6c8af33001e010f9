"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor
from tl_core.functions import sampling

from . import constraints
from .exp_family import ExponentialFamily
from .utils import _expand_to

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of vectors on the simplex.

    Density: p(x) = Γ(Σ a_i) / Π Γ(a_i) · Π x_i^(a_i - 1), of x_i ≥ 0 with Σ x_i = 1.

    A sample is a vector of gamma variables divided by their sum. Its gradient comes from implicit reparametrization
    (Figurnov, Mohamed and Mnih, Implicit reparameterization gradients, 2018).

    Args:
        concentration (Tensor): the a_i, positive, along the last dimension. Another name is alpha.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: the concentration is not positive, or has no dimension.

    Example:
        >>> Dirichlet(tl_core.ones(3)).log_prob(tl_core.tensor([0.5, 0.25, 0.25])).exp()
        tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support: Any = constraints.simplex
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {"concentration": 1}
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean: the concentration divided by its sum."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The mode: concentration - 1 divided by its sum, or the corner of the largest where all are below 1."""
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        in_corner = (self.concentration < 1).all(-1, keepdim=True)
        corner = tl_core.zeros_like(mode).scatter(-1, self.concentration.argmax(-1, keepdim=True), 1)
        return tl_core.where(in_corner, corner, mode)

    @property
    def variance(self) -> Tensor:
        """The variance of each element: m (1 - m) / (Σ a_i + 1), where m is the mean."""
        mean = self.mean
        return mean * (1 - mean) / (self.concentration.sum(-1, True) + 1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        concentration = _expand_to(self.concentration, self._extended_shape(sample_shape))
        if concentration.requires_grad and tl_core.is_grad_enabled():
            return _differentiable_sample()(concentration)
        return sampling.sample_dirichlet(concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return tl_core.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        total, count = a.sum(-1), a.size(-1)
        each = ((a - 1) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (count - total) * total.digamma() - each

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration - 1,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        a = x + 1
        return a.lgamma().sum(-1) - a.sum(-1).lgamma()


@cache
def _differentiable_sample() -> Callable[[Tensor], Tensor]:
    """The autograd function of sampling, created at its first use."""
    import tl_autograd

    class SampleDirichlet(tl_autograd.Function):
        @staticmethod
        def forward(ctx: Any, concentration: Tensor) -> Tensor:
            x = sampling.sample_dirichlet(concentration)
            ctx.save_for_backward(x, concentration)
            return x

        @staticmethod
        @tl_autograd.function.once_differentiable
        def backward(ctx: Any, grad_output: Tensor) -> Tensor:
            x, concentration = ctx.saved_tensors
            return _Dirichlet_backward(x, concentration, grad_output)

    return SampleDirichlet.apply


def _Dirichlet_backward(x: Tensor, concentration: Tensor, grad_output: Tensor) -> Tensor:
    """The gradient by the concentration, from the gradient by a sample x.

    dx_j / da_i = d_i (δ_ij - x_j): element i is a beta variable, whose derivative is d_i (1 - x_i), and the others
    share the rest as before (Jankowiak and Obermeyer, Pathwise derivatives beyond the reparameterization
    trick, 2018).
    """
    total = concentration.sum(-1, True).expand_as(concentration)
    each = sampling.dirichlet_grad(x, concentration, total)
    return each * (grad_output - (x * grad_output).sum(-1, True))
