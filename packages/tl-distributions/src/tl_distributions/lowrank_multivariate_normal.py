"""The multivariate normal distribution with a covariance of low rank."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import tl_core
from tl_core import Size, Tensor

from . import constraints
from .distribution import Distribution
from .multivariate_normal import half_log_det, mahalanobis, product
from .utils import SCALAR, _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with the covariance matrix W W^T + diag(D).

    Density: as of `MultivariateNormal`. Its determinant and inverse come from the r by r capacitance matrix
    I + W^T diag(D)^-1 W, by the matrix determinant lemma and Woodbury's identity, so that many dimensions cost little
    where the rank r is small.

    Args:
        loc (Tensor): the mean, (*, d).
        cov_factor (Tensor): W, (*, d, r).
        cov_diag (Tensor): D, positive, (*, d).
        validate_args (bool): whether parameters and values are checked.

    Raises:
        ValueError: the shapes do not fit, or D is not positive.

    Example:
        >>> m = LowRankMultivariateNormal(tl_core.zeros(2), tl_core.tensor([[1.0], [0.0]]), tl_core.ones(2))
        >>> m.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
    """

    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support: Any = constraints.real_vector
    has_rsample = True
    _parameter_event_dims: ClassVar[dict[str, int]] = {
        "loc": 1,
        "cov_factor": 2,
        "cov_diag": 1,
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
    }
    _copied_attributes = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        _check_shapes(loc, cov_factor, cov_diag)
        event = loc.shape[-1:]
        batch = tl_core.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch, *event))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, *event))
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)

    @property
    def mean(self) -> Tensor:
        """The mean: loc."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mode: loc."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The variance of each element."""
        each = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return each.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangular L with L L^T the covariance matrix."""
        # D^(1/2) (I + D^(-1/2) W W^T D^(-1/2)) D^(1/2): the factorized matrix has no eigenvalue below 1
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = tl_core.eye(self._event_shape[0], dtype=root.dtype, device=root.device)
        return self._spread(root * tl_core.linalg.cholesky(scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_cov_factor
        return self._spread(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        diag = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2)
        inner = tl_core.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._spread(diag.reciprocal().diag_embed() - inner.mT @ inner)

    def _spread(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Any = SCALAR) -> Tensor:
        shape = self._extended_shape(sample_shape)
        dtype, device = self.loc.dtype, self.loc.device
        common = _standard_normal(Size((*shape[:-1], self.cov_factor.shape[-1])), dtype, device)
        own = _standard_normal(shape, dtype, device)
        spread = product(self._unbroadcasted_cov_factor, common)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        constant = 0.5 * self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * distance - self._half_log_det() - constant

    def _half_log_det(self) -> Tensor:
        """Half the logarithm of the determinant of the covariance matrix."""
        return lowrank_half_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        return (self._half_log_det() + constant).expand(self._batch_shape)


def _check_shapes(loc: Tensor, cov_factor: Tensor, cov_diag: Tensor) -> None:
    if loc.dim() < 1:
        raise ValueError("loc must be at least one-dimensional.")
    d = loc.shape[-1]
    if cov_factor.dim() < 2:
        raise ValueError(
            "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        )
    if cov_factor.shape[-2] != d:
        raise ValueError(
            f"cov_factor must be a batch of matrices with {d} x m, but is {tuple(cov_factor.shape)}"
        )
    if cov_diag.dim() < 1 or cov_diag.shape[-1] != d:
        raise ValueError(
            f"cov_diag must be a batch of vectors with shape ({d},), but is {tuple(cov_diag.shape)}"
        )


def _capacitance_tril(cov_factor: Tensor, cov_diag: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T diag(D)^-1 W."""
    inner = (cov_factor.mT / cov_diag.unsqueeze(-2)) @ cov_factor
    identity = tl_core.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device)
    return tl_core.linalg.cholesky(inner + identity)


def lowrank_half_log_det(cov_diag: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Half the logarithm of det(W W^T + diag(D)), by the matrix determinant lemma."""
    return half_log_det(capacitance_tril) + 0.5 * cov_diag.log().sum(-1)


def lowrank_mahalanobis(
    cov_factor: Tensor, cov_diag: Tensor, difference: Tensor, capacitance_tril: Tensor
) -> Tensor:
    """x^T (W W^T + diag(D))^-1 x for each vector x, by Woodbury's identity."""
    scaled = difference / cov_diag
    return (scaled * difference).sum(-1) - mahalanobis(capacitance_tril, product(cov_factor.mT, scaled))
