"""The distribution of Lewandowski, Kurowicka and Joe of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import SCALAR, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The LKJ distribution of the Cholesky factors L of correlation matrices M = L L^T.

    Density: proportional to det(M)^(η - 1) as a density of M, and to Π_i L_ii^(2 (η - 1) + n - i), i from 2 to n, as a
    density of L. With η = 1 the matrices are uniform.

    Samples come from the onion method: row after row, a direction that is uniform on a sphere times the square root of
    a beta variable (Lewandowski, Kurowicka and Joe, Generating random correlation matrices based on vines and extended
    onion method, Journal of Multivariate Analysis 100, 2009, section 3).

    Args:
        dim (int): the size n of the matrices, at least 2.
        concentration (Tensor or float): η, positive.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: dim is less than 2, or the concentration is not positive.

    Example:
        >>> factor = LKJCholesky(3, 0.5).sample()
        >>> tl_core.allclose((factor @ factor.mT).diagonal(), tl_core.ones(3))
        True
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive}
    support: Any = constraints.corr_cholesky
    _parameter_event_dims: ClassVar[dict[str, int]] = {"concentration": 0}
    _copied_attributes = ("dim",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args=validate_args)

    def _squared_radii(self) -> Beta:
        """The distribution of the squared lengths of the rows left of the diagonal.

        Row 0 has no elements there. Row i has i elements there: Beta(i / 2, η + (n - 1 - i) / 2).
        """
        like = self.concentration
        i = tl_core.arange(1, self.dim, dtype=like.dtype, device=like.device)
        other = like.unsqueeze(-1) + 0.5 * (self.dim - 1 - i)
        return Beta(0.5 * i, other, validate_args=False)

    def sample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with tl_core.no_grad():
            squared = self._squared_radii().sample(Size(sample_shape)).unsqueeze(-1)
            like = self.concentration
            normal = tl_core.randn(shape, dtype=like.dtype, device=like.device).tril(-1)[..., 1:, :]
            below = squared.sqrt() * normal / tl_core.linalg.norm(normal, dim=-1, keepdim=True)
            factor = tl_core.cat([tl_core.zeros_like(below[..., :1, :]), below], -2)
            left = 1 - factor.square().sum(-1)
            return factor + left.clamp(min=tl_core.finfo(factor.dtype).tiny).sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, like = self.dim, self.concentration
        i = tl_core.arange(2, n + 1, dtype=like.dtype, device=like.device)
        order = 2 * (like - 1).unsqueeze(-1) + n - i
        density = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        return density - self._log_normalizer()

    def _log_normalizer(self) -> Tensor:
        """The logarithm of the integral of the density over L, as on page 1999 of the paper."""
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        return 0.5 * m * math.log(math.pi) + (alpha - 0.5).mvlgamma(m) - alpha.lgamma() * m
