"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import chosen_matrix, half_log_det, scale_tril_of
from .utils import SCALAR, holds, lazy_property, vec_to_tril_matrix

__all__ = ["Wishart"]

_TRIES = 3  # how often singular samples are drawn again
_FIRST_TRIES = 10  # the limit where degrees of freedom are so few that singular samples are likely


class Wishart(ExponentialFamily):
    """The Wishart distribution of positive definite matrices: the scatter of df normal vectors of covariance Σ.

    Density: p(X) = det(X)^((df - n - 1)/2) exp(-tr(Σ^-1 X) / 2) / (2^(df n/2) det(Σ)^(df/2) Γ_n(df/2)), of positive
    definite X, with the multivariate gamma function Γ_n.

    A sample is L A A^T L^T with Σ = L L^T and a lower triangular A of normal variables, whose diagonal are roots of
    chi-squared variables (Bartlett, On the theory of statistical regression, 1933; Odell and Feiveson, A numerical
    procedure to generate a sample covariance matrix, 1966).

    Args:
        df (Tensor or float): the degrees of freedom, above n - 1, not necessarily an integer.
        covariance_matrix (Tensor): Σ, positive definite, (*, n, n).
        precision_matrix (Tensor): Σ^-1, positive definite, in place of Σ.
        scale_tril (Tensor): L, lower triangular with a positive diagonal, in place of Σ.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: several matrices or none are passed, or a parameter is out of its range.

    Example:
        >>> Wishart(tl_core.tensor(3.0), tl_core.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    arg_constraints: ClassVar[Any] = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support: Any = constraints.positive_definite
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {
        "df": 0,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
    }
    _copied_attributes = ("_unbroadcasted_scale_tril",)
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = chosen_matrix(covariance_matrix, precision_matrix, scale_tril)
        if isinstance(df, Number):
            df = tl_core.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch = tl_core.broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        n = matrix.shape[-1]
        if not self.df.is_meta and (self.df <= n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)
        if not self.df.is_meta and (self.df < n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular L with Σ = L L^T."""
        return self._spread(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The matrix Σ."""
        factor = self._unbroadcasted_scale_tril
        return self._spread(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of Σ."""
        return self._spread(tl_core.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _spread(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @property
    def _matrix_df(self) -> Tensor:
        """The degrees of freedom, with dimensions for a matrix."""
        return self.df[..., None, None]

    @property
    def mean(self) -> Tensor:
        """The mean: df Σ."""
        return self._matrix_df * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The mode: (df - n - 1) Σ, or nan where df < n + 1."""
        factor = self._matrix_df - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, tl_core.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """The variance of each element: df (Σ_ij² + Σ_ii Σ_jj)."""
        sigma = self.covariance_matrix
        diagonal = sigma.diagonal(dim1=-2, dim2=-1)
        return self._matrix_df * (sigma.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Size) -> Tensor:
        n = self._event_shape[-1]
        shape = self._extended_shape(sample_shape)
        scale = self._unbroadcasted_scale_tril
        df = self.df.to(scale.dtype).unsqueeze(-1)
        order = tl_core.arange(n, dtype=scale.dtype, device=scale.device)
        diagonal = Chi2(df - order, validate_args=False).rsample(sample_shape).sqrt()
        below = (*shape[:-2], n * (n - 1) // 2)
        normal = tl_core.randn(below, dtype=scale.dtype, device=scale.device)
        factor = scale @ (diagonal.diag_embed() + vec_to_tril_matrix(normal, -1))
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = SCALAR, max_try_correction: int | None = None) -> Tensor:
        """Samples, with gradients to the parameters.

        Rounding may make a sample singular where df is hardly above n - 1. It draws such samples again, a few times.
        A sample that stays singular has a log_prob of -inf.

        Args:
            sample_shape (Size): how many.
            max_try_correction: how often to draw singular samples again. None: 10 times where df < n, else 3 times.

        Returns:
            A tensor of shape sample_shape + batch_shape + (n, n).
        """
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        if sample.is_meta:
            return sample
        if max_try_correction is None:
            few = not holds(self.df >= self._event_shape[-1])
            max_try_correction = _FIRST_TRIES if few else _TRIES
        singular = ~constraints.positive_definite.check(sample.detach())
        if not holds(~singular):
            warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(max_try_correction):
            if holds(~singular):
                break
            sample = tl_core.where(singular[..., None, None], self._bartlett_sampling(sample_shape), sample)
            singular = ~constraints.positive_definite.check(sample.detach())
        return sample

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, half = self._event_shape[-1], 0.5 * self.df
        factor = self._unbroadcasted_scale_tril
        trace = tl_core.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        log_det = tl_core.linalg.slogdet(value).logabsdet
        normalizer = half * (n * math.log(2) + 2 * half_log_det(factor)) + half.mvlgamma(n)
        return (half - 0.5 * (n + 1)) * log_det - 0.5 * trace - normalizer

    def entropy(self) -> Tensor:
        n, half = self._event_shape[-1], 0.5 * self.df
        volume = half_log_det(self._unbroadcasted_scale_tril) + 0.5 * n * math.log(2)
        digammas = (
            half.unsqueeze(-1) - 0.5 * tl_core.arange(n, dtype=half.dtype, device=half.device)
        ).digamma()
        return (n + 1) * volume + half.mvlgamma(n) - (half - 0.5 * (n + 1)) * digammas.sum(-1) + n * half

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._event_shape[-1] - 1)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        n = self._event_shape[-1]
        half = y + 0.5 * (n + 1)
        return half.mvlgamma(n) - half * tl_core.linalg.slogdet(-x).logabsdet
