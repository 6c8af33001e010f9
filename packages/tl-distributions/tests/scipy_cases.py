"""Distributions of single numbers beside scipy's, with parameters from small to large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats as st

import tl_core
import tl_distributions as D

SETTINGS = 60


@dataclass(frozen=True)
class Case:
    """A distribution, how its parameters are drawn, and scipy's counterpart."""

    name: str
    draw: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    make: Callable[..., Any]
    reference: Callable[..., Any]
    rounding: Callable[..., Any] = lambda *parameters: (
        0.0
    )  # size of the terms that a log density is a difference of
    moments: Callable[..., Any] = lambda *parameters: True  # where scipy's moments can be trusted
    extreme: bool = True  # whether quantiles near 0 and 1 are compared

    def parameters(self) -> tuple[np.ndarray, ...]:
        """The settings."""
        return self.draw(np.random.default_rng(sum(map(ord, self.name))))

    def pair(self) -> tuple[Any, Any]:
        """The distribution, and scipy's."""
        parameters = self.parameters()
        return self.make(*map(tl_core.from_numpy, parameters)), self.reference(*parameters)


def real(rng: np.random.Generator) -> np.ndarray:
    """Numbers of either sign and of several orders of magnitude."""
    return rng.standard_normal(SETTINGS) * 10 ** rng.uniform(-2, 2, SETTINGS)


def positive(low: float = 1e-2, high: float = 1e2) -> Callable[[np.random.Generator], np.ndarray]:
    """Positive numbers, uniform in their logarithm, with the ends among them."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        exponents = rng.uniform(np.log(low), np.log(high), SETTINGS)
        exponents[:2] = np.log(low), np.log(high)
        return np.exp(exponents)

    return draw


def probability(rng: np.random.Generator) -> np.ndarray:
    """Probabilities, some near 0 and 1."""
    p = rng.uniform(0, 1, SETTINGS)
    p[:6] = 1e-6, 1e-3, 1 - 1e-3, 1 - 1e-6, 0.5, 0.25
    return p


def each(*parameters: Callable[[np.random.Generator], np.ndarray]) -> Any:
    """Several parameters."""
    return lambda rng: tuple(draw(rng) for draw in parameters)


def count(high: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Whole numbers from 1 on."""
    return lambda rng: np.floor(np.exp(rng.uniform(0, np.log(high), SETTINGS)))


def gammas(*values: np.ndarray) -> np.ndarray:
    """The largest of |log Γ(v)| + v."""
    from scipy.special import gammaln

    return np.max([np.abs(gammaln(v)) + np.abs(v) for v in values], axis=0)


CONTINUOUS = [
    Case("Beta", each(positive(), positive()), D.Beta, st.beta, lambda a, b: gammas(a, b, a + b)),
    Case("Cauchy", each(real, positive()), D.Cauchy, lambda m, s: st.cauchy(m, s)),
    Case("Chi2", each(positive(0.1, 1e3)), D.Chi2, st.chi2, lambda k: gammas(k / 2)),
    Case("Exponential", each(positive(1e-5, 1e5)), D.Exponential, lambda r: st.expon(scale=1 / r)),
    Case(
        "FisherSnedecor", each(positive(0.5, 200), positive(0.5, 200)), D.FisherSnedecor, st.f,
        lambda a, b: gammas(a / 2, b / 2, (a + b) / 2),
    ),
    Case(
        "Gamma", each(positive(0.05, 1e3), positive()), D.Gamma, lambda a, r: st.gamma(a, scale=1 / r),
        lambda a, r: gammas(a) + np.abs(a * np.log(r)),
    ),
    Case(
        "GeneralizedPareto", each(real, positive(), real), lambda m, s, c: D.GeneralizedPareto(m, s, c / 20),
        lambda m, s, c: st.genpareto(c / 20, m, s), moments=lambda m, s, c: c / 20 < 0.4,
    ),
    Case("Gumbel", each(real, positive()), D.Gumbel, lambda m, s: st.gumbel_r(m, s)),
    Case("HalfCauchy", each(positive()), D.HalfCauchy, lambda s: st.halfcauchy(scale=s)),
    Case("HalfNormal", each(positive()), D.HalfNormal, lambda s: st.halfnorm(scale=s)),
    Case(
        "InverseGamma", each(positive(0.5, 100), positive()), D.InverseGamma,
        lambda a, r: st.invgamma(a, scale=r), lambda a, r: gammas(a) + np.abs(a * np.log(r)),
        moments=lambda a, r: a > 2.01,
    ),
    Case("Laplace", each(real, positive()), D.Laplace, lambda m, s: st.laplace(m, s)),
    Case(
        "LogNormal", each(real, positive(0.01, 3)), lambda m, s: D.LogNormal(m / 10, s),
        lambda m, s: st.lognorm(s, scale=np.exp(m / 10)),
    ),
    Case("Normal", each(real, positive(1e-4, 1e4)), D.Normal, lambda m, s: st.norm(m, s)),
    Case(
        "Pareto", each(positive(), positive(0.1, 50)), D.Pareto, lambda s, a: st.pareto(a, scale=s),
        moments=lambda s, a: a > 2.01,
    ),
    Case(
        "StudentT", each(positive(0.1, 1e3), real, positive()), D.StudentT, lambda k, m, s: st.t(k, m, s),
        lambda k, m, s: gammas(k / 2), moments=lambda k, m, s: k > 2.01,
    ),
    Case(
        "Uniform", each(real, positive()), lambda m, w: D.Uniform(m, m + w), lambda m, w: st.uniform(m, w),
        lambda m, w: np.abs(m) / w,
    ),
    Case(
        "VonMises", each(lambda rng: rng.uniform(-3, 3, SETTINGS), positive(1e-3, 1e3)), D.VonMises,
        lambda m, k: st.vonmises(k, m), lambda m, k: 10 + k, extreme=False,
    ),
    Case(
        "Weibull", each(positive(), positive(0.2, 20)), D.Weibull, lambda s, k: st.weibull_min(k, scale=s)
    ),
]  # fmt: skip

DISCRETE = [
    Case("Bernoulli", each(probability), D.Bernoulli, st.bernoulli),
    Case(
        "BernoulliLogits", each(real), lambda x: D.Bernoulli(logits=x / 40),
        lambda x: st.bernoulli(1 / (1 + np.exp(-x / 40))),
    ),
    Case(
        "Binomial", each(count(1000), probability), lambda n, p: D.Binomial(n, p), st.binom,
        lambda n, p: gammas(n + 1),
    ),
    Case("Geometric", each(probability), D.Geometric, lambda p: st.geom(p, loc=-1)),
    Case(
        "NegativeBinomial", each(positive(0.1, 100), probability), lambda r, p: D.NegativeBinomial(r, p),
        lambda r, p: st.nbinom(r, 1 - p), lambda r, p: 10 * gammas(r + 1000) / np.minimum(p, 1 - p),
    ),
    Case("Poisson", each(positive(1e-3, 1e4)), D.Poisson, st.poisson, lambda r: gammas(r + 1, 2 * r + 10)),
]  # fmt: skip
