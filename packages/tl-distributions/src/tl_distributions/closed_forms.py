"""Divergences in closed form.

Each family has a formula for the divergence of two of its distributions. Divergences of different families on the real
line are -H(p) - E_p[log q(x)], with the moments under p that log q needs, and infinite where p has mass outside the
support of q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import Any

import tl_core
from tl_core import Tensor

from .bernoulli import Bernoulli
from .beta import Beta, _log_beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _log_sigmoid, _sum_rightmost, euler_constant

__all__: list[str] = []

_LOG_2PI = math.log(2 * math.pi)


# ---- one family ------------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    success = _log_sigmoid(p.logits) - _log_sigmoid(q.logits)
    failure = _log_sigmoid(-p.logits) - _log_sigmoid(-q.logits)
    impossible = ((q.probs == 0) & (p.probs > 0)) | ((q.probs == 1) & (p.probs < 1))
    result = _times_finite(p.probs, success) + _times_finite(1 - p.probs, failure)
    return result.masked_fill(impossible, tl_core.inf)


def _times_finite(probs: Tensor, logs: Tensor) -> Tensor:
    """The product of two tensors, 0 where an event has probability 0."""
    return probs * logs.masked_fill((probs == 0) & ~logs.isfinite(), 0)


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "the divergence of binomial distributions needs at least as many trials in p as in q"
        )
    each = _bernoulli_bernoulli(p, q)
    each = each.masked_fill(p.total_count == 0, 0)
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, tl_core.inf)


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    term = p.probs * (p.logits - q.logits)
    term = term.masked_fill((q.probs == 0).expand_as(term), tl_core.inf)
    return term.masked_fill((p.probs == 0).expand_as(term), 0.0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Beta, Beta)
def _beta_beta(p: Beta, q: Beta) -> Tensor:
    pa, pb, qa, qb = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    total = pa + pb
    means = (pa - qa) * pa.digamma() + (pb - qb) * pb.digamma() + (qa + qb - total) * total.digamma()
    return _log_beta(qa, qb) - _log_beta(pa, pb) + means


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    means = ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)
    return total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1) + means


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    ratio = q.rate / p.rate
    return (a - b) * a.digamma() - a.lgamma() + b.lgamma() - b * ratio.log() + a * (ratio - 1)


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - tl_core.special.xlog1py(p.mean, -q.probs) - q.probs.log()


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    ratio = p.rate.masked_fill(p.rate == 0, 1).log() - q.rate.masked_fill(q.rate == 0, 1).log()
    return (p.rate * ratio - (p.rate - q.rate)).masked_fill((q.rate == 0) & (p.rate > 0), tl_core.inf)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    # Chyzak and Nielsen, A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions, 2019
    apart = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return apart.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return p.mean * (p.logits - q.logits) - p._log_norm() + q._log_norm()


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return (
        (shift + (1 + ratio).lgamma()).exp()
        - shift
        + ratio * euler_constant
        - ratio.log()
        - (1 + euler_constant)
    )


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * (-distance / p.scale).exp() - ratio.log() - 1


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal_normal(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, tl_core.inf)


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), tl_core.inf)


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "the divergence of Independent distributions needs as many reinterpreted dimensions in p as in q, but got "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "the divergence of transformed distributions needs the same transforms and event shapes"
        )
    return kl_divergence(p.base_dist, q.base_dist)


# ---- multivariate normal ---------------------------------------------------------------------------------------------


def _normal_divergence(
    log_dets: Tensor, trace: Tensor, distance: Tensor, p: MultivariateNormal | LowRankMultivariateNormal
) -> Tensor:
    """Half of tr(Σq^-1 Σp) + the squared distance of the means - n, and half log det Σq - half log det Σp."""
    return log_dets + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    pl, ql = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _squared_sum(tl_core.linalg.solve_triangular(ql, pl, upper=False))
    distance = mahalanobis(ql, q.loc - p.loc)
    return _normal_divergence(half_log_det(ql) - half_log_det(pl), trace, distance, p)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _lowrank_multivariate(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    ql = q._unbroadcasted_scale_tril
    trace = sum(
        _squared_sum(tl_core.linalg.solve_triangular(ql, part, upper=False))
        for part in (p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed())
    )
    distance = mahalanobis(ql, q.loc - p.loc)
    return _normal_divergence(half_log_det(ql) - p._half_log_det(), trace, distance, p)  # type: ignore[arg-type]


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _lowrank_lowrank(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    trace = _lowrank_trace(q, p._unbroadcasted_cov_factor) + _lowrank_trace(
        q, p._unbroadcasted_cov_diag.sqrt().diag_embed()
    )
    return _normal_divergence(q._half_log_det() - p._half_log_det(), trace, _lowrank_distance(p, q), p)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _multivariate_lowrank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    pl = p._unbroadcasted_scale_tril
    log_dets = q._half_log_det() - half_log_det(pl)
    return _normal_divergence(log_dets, _lowrank_trace(q, pl), _lowrank_distance(p, q), p)


def _squared_sum(matrix: Tensor) -> Tensor:
    return matrix.square().sum((-2, -1))


def _lowrank_distance(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    """The squared distance of the means, as q measures it."""
    return lowrank_mahalanobis(
        q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril
    )


def _lowrank_trace(q: LowRankMultivariateNormal, factor: Tensor) -> Tensor:
    """tr(Σq^-1 F F^T), by Woodbury's identity."""
    scaled = factor / q._unbroadcasted_cov_diag.unsqueeze(-1)
    inner = q._unbroadcasted_cov_factor.mT @ scaled
    solved = tl_core.linalg.solve_triangular(q._capacitance_tril, inner, upper=False)
    return (scaled * factor).sum((-2, -1)) - _squared_sum(solved)


# ---- moments under p -------------------------------------------------------------------------------------------------


@singledispatch
def _mean_log(p: Any) -> Tensor:
    """E[log x]."""
    raise NotImplementedError(f"the mean of log x under {type(p).__name__}")


@_mean_log.register
def _(p: Beta) -> Tensor:
    return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()


@_mean_log.register
def _(p: Gamma) -> Tensor:
    return p.concentration.digamma() - p.rate.log()


@_mean_log.register
def _(p: Exponential) -> Tensor:
    return -p.rate.log() - euler_constant


@_mean_log.register
def _(p: Pareto) -> Tensor:
    return p.scale.log() + p.alpha.reciprocal()


@_mean_log.register
def _(p: Uniform) -> Tensor:
    return _mean_log_between(p.low, p.high)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log x of x between two bounds that are not negative."""
    return (tl_core.xlogy(high, high) - tl_core.xlogy(low, low)) / (high - low) - 1


@singledispatch
def _mean_exp(p: Any, t: Tensor) -> Tensor:
    """E[exp(-t x)], t > 0."""
    raise NotImplementedError(f"the mean of exp(-t x) under {type(p).__name__}")


@_mean_exp.register
def _(p: Exponential, t: Tensor) -> Tensor:
    return p.rate / (p.rate + t)


@_mean_exp.register
def _(p: Gamma, t: Tensor) -> Tensor:
    return (-p.concentration * (t / p.rate).log1p()).exp()


@_mean_exp.register
def _(p: Normal, t: Tensor) -> Tensor:
    return (0.5 * (p.scale * t).square() - p.loc * t).exp()


@_mean_exp.register
def _(p: Uniform, t: Tensor) -> Tensor:
    width = (p.high - p.low) * t
    return (-p.low * t).exp() * -(-width).expm1() / width


# ---- E_p[log q(x)] ---------------------------------------------------------------------------------------------------


def _log_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _log_gamma(p: Any, q: Gamma) -> Tensor:
    a = q.concentration
    return a * q.rate.log() - a.lgamma() + (a - 1) * _mean_log(p) - q.rate * p.mean


def _log_normal(p: Any, q: Normal) -> Tensor:
    squared = p.variance + (p.mean - q.loc).square()
    return -0.5 * squared / q.scale.square() - q.scale.log() - 0.5 * _LOG_2PI


def _log_gumbel(p: Any, q: Gumbel) -> Tensor:
    t = q.scale.reciprocal()
    return (q.loc - p.mean) * t - (q.loc * t).exp() * _mean_exp(p, t) - q.scale.log()


def _log_laplace(p: Normal, q: Laplace) -> Tensor:
    # the mean of |x - m| under a normal distribution
    apart = (p.loc - q.loc) / p.scale
    near = math.sqrt(2 / math.pi) * (-0.5 * apart.square()).exp()
    return -(2 * q.scale).log() - p.scale * (near + apart * (apart / math.sqrt(2)).erf()) / q.scale


def _log_beta_density(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    below, above = _mean_log(p), _mean_log_between(1 - p.high, 1 - p.low)
    return (a - 1) * below + (b - 1) * above - _log_beta(a, b)


def _log_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return q.logits * p.mean - q._log_norm()


def _log_pareto(p: Uniform, q: Pareto) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)


def _log_uniform(p: Any, q: Uniform) -> Tensor:
    return -(q.high - q.low).log()


def _log_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return tl_core.xlogy(p.mean, q.rate) - q.rate


_EXPECTED_LOG: dict[type, Callable[[Any, Any], Tensor]] = {
    Beta: _log_beta_density,
    ContinuousBernoulli: _log_continuous_bernoulli,
    Exponential: _log_exponential,
    Gamma: _log_gamma,
    Gumbel: _log_gumbel,
    Laplace: _log_laplace,
    Normal: _log_normal,
    Pareto: _log_pareto,
    Poisson: _log_poisson,
    Uniform: _log_uniform,
}


def _outside_unit(p: Any, q: Any) -> Tensor:
    """A mask: the unit interval exceeds the support of q."""
    return (q.low > 0) | (q.high < 1)


def _uniform_outside(p: Uniform, q: Any) -> Any:
    """A mask: the support of p exceeds the support of q."""
    if isinstance(q, Pareto):
        return p.low < q.scale
    if isinstance(q, (Beta, ContinuousBernoulli)):
        return (p.low < 0) | (p.high > 1)
    if isinstance(q, (Exponential, Gamma)):
        return p.low < 0
    return None


def _cross(q_type: type, outside: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Tensor]:
    expected_log = _EXPECTED_LOG[q_type]

    def divergence(p: Any, q: Any) -> Tensor:
        result = -p.entropy() - expected_log(p, q)
        beyond = None if outside is None else outside(p, q)
        return result if beyond is None else result.masked_fill(beyond.expand_as(result), tl_core.inf)

    return divergence


def _infinite(p: Any, q: Any) -> Tensor:
    """The divergence where p always has mass outside the support of q."""
    shape = tl_core.broadcast_shapes(p.batch_shape, q.batch_shape)
    like = next(v for v in vars(p).values() if isinstance(v, Tensor)) if vars(p) else None
    assert like is not None
    return tl_core.full(shape, tl_core.inf, dtype=like.dtype, device=like.device)


_FINITE: dict[type, tuple[type, ...]] = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal),
    ContinuousBernoulli: (Exponential, Normal),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (Exponential, Gamma, Normal),
}
_OUTSIDE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
_FROM_UNIFORM = (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto)


def _pairs(table: dict[type, tuple[type, ...]]) -> Iterable[tuple[type, type]]:
    return ((p_type, q_type) for p_type, q_types in table.items() for q_type in q_types)


for _p, _q in _pairs(_FINITE):
    register_kl(_p, _q)(_cross(_q, None))
for _p, _q in _pairs(_OUTSIDE):
    register_kl(_p, _q)(_infinite)
for _p in (Beta, ContinuousBernoulli):
    register_kl(_p, Uniform)(_cross(Uniform, _outside_unit))
for _q in _FROM_UNIFORM:
    register_kl(Uniform, _q)(_cross(_q, _uniform_outside))
