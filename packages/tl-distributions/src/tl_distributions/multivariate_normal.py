"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The normal, or Gaussian, distribution of vectors.

    Density: p(x) = exp(-(x - loc)^T Σ^-1 (x - loc) / 2) / √det(2π Σ), of real x.

    The spread is given by the covariance matrix Σ, by the precision matrix Σ^-1, or by the lower triangular L with
    Σ = L L^T. Everything is computed from L: giving it saves a factorization.

    Args:
        loc (Tensor): the mean, (*, d).
        covariance_matrix (Tensor): Σ, positive definite, (*, d, d).
        precision_matrix (Tensor): Σ^-1, positive definite, in place of Σ.
        scale_tril (Tensor): L, lower triangular with a positive diagonal, in place of Σ.
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: several matrices or none are passed, or one violates its constraint or has too few dimensions.

    Example:
        >>> m = MultivariateNormal(tl_core.zeros(2), tl_core.eye(2))
        >>> m.log_prob(tl_core.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support: Any = constraints.real_vector
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {
        "loc": 1,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
    }
    _copied_attributes = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = chosen_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch = tl_core.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular L with Σ = L L^T."""
        return self._spread(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix Σ."""
        factor = self._unbroadcasted_scale_tril
        return self._spread(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of Σ."""
        return self._spread(tl_core.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _spread(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        """The mean: loc."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance of each element: the diagonal of Σ."""
        variance = self._unbroadcasted_scale_tril.square().sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + product(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        constant = 0.5 * self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * mahalanobis(factor, value - self.loc) - half_log_det(factor) - constant

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (half_log_det(self._unbroadcasted_scale_tril) + constant).expand(self._batch_shape)


def chosen_matrix(
    covariance_matrix: Tensor | None, precision_matrix: Tensor | None, scale_tril: Tensor | None
) -> tuple[str, Tensor]:
    """The name and the value of the one matrix that was passed."""
    arguments = {
        "covariance_matrix": covariance_matrix,
        "precision_matrix": precision_matrix,
        "scale_tril": scale_tril,
    }
    matrices = [(name, matrix) for name, matrix in arguments.items() if matrix is not None]
    if len(matrices) != 1:
        raise ValueError(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified, but got "
            f"{' and '.join(name for name, _ in matrices) or 'none'}."
        )
    name, matrix = matrices[0]
    if matrix.dim() < 2:
        raise ValueError(
            f"{name} must be at least two-dimensional, with optional leading batch dimensions, but has "
            f"{matrix.dim()} dimensions"
        )
    return name, matrix


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """The lower triangular L with L L^T = Σ, from any of the three matrices."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return tl_core.linalg.cholesky(matrix)
    # With rows and columns reversed, the factor of Σ^-1 becomes an upper triangular U with U U^T = Σ^-1, so that
    # L = U^-T is lower triangular.
    upper = tl_core.linalg.cholesky(matrix.flip((-2, -1))).flip((-2, -1))
    identity = tl_core.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return tl_core.linalg.solve_triangular(upper.mT, identity, upper=False)


def product(matrix: Tensor, vector: Tensor) -> Tensor:
    """The product of matrices and vectors, (*, n, m) and (*, m)."""
    if matrix.dim() == 2:
        return vector @ matrix.mT
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def half_log_det(factor: Tensor) -> Tensor:
    """Half the logarithm of det(L L^T)."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Tensor, difference: Tensor) -> Tensor:
    """The squared length of L^-1 x, for each vector x.

    Dimensions of x that L lacks become columns, so that each L is solved once.
    """
    lead = difference.dim() - 1 - (factor.dim() - 2)
    if lead <= 0:
        solved = tl_core.linalg.solve_triangular(factor, difference.unsqueeze(-1), upper=False)
        return solved.square().sum((-2, -1))
    shape = difference.shape[:-1]
    columns = difference.flatten(0, lead - 1).movedim(0, -1)
    solved = tl_core.linalg.solve_triangular(factor, columns, upper=False)
    return solved.square().sum(-2).movedim(-1, 0).reshape(shape)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of a precision matrix's inverse, from the factor of the reversed matrix."""
    turned = tl_core.linalg.cholesky(P.flip(-2, -1))
    inverted = turned.flip(-2, -1).mT
    identity = tl_core.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return tl_core.linalg.solve_triangular(inverted, identity, upper=False)


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Products of matrices and vectors, both in batches that broadcast."""
    return tl_core.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """The squared Mahalanobis distances of vectors, by Cholesky factors of the covariances."""
    solved = tl_core.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).square().sum(-1)
