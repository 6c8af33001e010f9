"""Probability distributions: sampling with gradients, densities, transforms, constraints, divergences.

>>> import tl_core
>>> from tl_distributions import Normal, kl_divergence
>>> standard = Normal(0.0, 1.0)
>>> standard.log_prob(tl_core.tensor(0.0)), standard.cdf(tl_core.tensor(0.0))
(tensor(-0.9189), tensor(0.5000))
>>> kl_divergence(standard, Normal(1.0, 1.0))
tensor(0.5000)
"""

from typing import TYPE_CHECKING

from tl_core.lazy_attributes import attach

from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import constraints
    from .bernoulli import *
    from .beta import *
    from .binomial import *
    from .categorical import *
    from .cauchy import *
    from .chi2 import *
    from .constraint_registry import *
    from .continuous_bernoulli import *
    from .dirichlet import *
    from .distribution import *
    from .exp_family import *
    from .exponential import *
    from .fishersnedecor import *
    from .gamma import *
    from .generalized_pareto import *
    from .geometric import *
    from .gumbel import *
    from .half_cauchy import *
    from .half_normal import *
    from .independent import *
    from .inverse_gamma import *
    from .kl import *
    from .kumaraswamy import *
    from .laplace import *
    from .lkj_cholesky import *
    from .log_normal import *
    from .logistic_normal import *
    from .lowrank_multivariate_normal import *
    from .mixture_same_family import *
    from .multinomial import *
    from .multivariate_normal import *
    from .negative_binomial import *
    from .normal import *
    from .one_hot_categorical import *
    from .pareto import *
    from .poisson import *
    from .relaxed_bernoulli import *
    from .relaxed_categorical import *
    from .studentT import *
    from .transformed_distribution import *
    from .transforms import *
    from .uniform import *
    from .von_mises import *
    from .weibull import *
    from .wishart import *

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "bernoulli": ("Bernoulli",),
        "beta": ("Beta",),
        "binomial": ("Binomial",),
        "categorical": ("Categorical",),
        "cauchy": ("Cauchy",),
        "chi2": ("Chi2",),
        "constraint_registry": ("ConstraintRegistry", "biject_to", "transform_to"),
        "continuous_bernoulli": ("ContinuousBernoulli",),
        "dirichlet": ("Dirichlet",),
        "distribution": ("Distribution",),
        "exp_family": ("ExponentialFamily",),
        "exponential": ("Exponential",),
        "fishersnedecor": ("FisherSnedecor",),
        "gamma": ("Gamma",),
        "generalized_pareto": ("GeneralizedPareto",),
        "geometric": ("Geometric",),
        "gumbel": ("Gumbel",),
        "half_cauchy": ("HalfCauchy",),
        "half_normal": ("HalfNormal",),
        "independent": ("Independent",),
        "inverse_gamma": ("InverseGamma",),
        "kl": ("kl_divergence", "register_kl"),
        "kumaraswamy": ("Kumaraswamy",),
        "laplace": ("Laplace",),
        "lkj_cholesky": ("LKJCholesky",),
        "log_normal": ("LogNormal",),
        "logistic_normal": ("LogisticNormal",),
        "lowrank_multivariate_normal": ("LowRankMultivariateNormal",),
        "mixture_same_family": ("MixtureSameFamily",),
        "multinomial": ("Multinomial",),
        "multivariate_normal": ("MultivariateNormal",),
        "negative_binomial": ("NegativeBinomial",),
        "normal": ("Normal",),
        "one_hot_categorical": ("OneHotCategorical", "OneHotCategoricalStraightThrough"),
        "pareto": ("Pareto",),
        "poisson": ("Poisson",),
        "relaxed_bernoulli": ("LogitRelaxedBernoulli", "RelaxedBernoulli"),
        "relaxed_categorical": ("ExpRelaxedCategorical", "RelaxedOneHotCategorical"),
        "studentT": ("StudentT",),
        "transformed_distribution": ("TransformedDistribution",),
        "transforms": (
            "AbsTransform",
            "AffineTransform",
            "CatTransform",
            "ComposeTransform",
            "CorrCholeskyTransform",
            "CumulativeDistributionTransform",
            "ExpTransform",
            "IndependentTransform",
            "LowerCholeskyTransform",
            "PositiveDefiniteTransform",
            "PowerTransform",
            "ReshapeTransform",
            "SigmoidTransform",
            "SoftmaxTransform",
            "SoftplusTransform",
            "StackTransform",
            "StickBreakingTransform",
            "TanhTransform",
            "Transform",
            "identity_transform",
        ),
        "uniform": ("Uniform",),
        "von_mises": ("VonMises",),
        "weibull": ("Weibull",),
        "wishart": ("Wishart",),
    },
    (
        "closed_forms",
        "constraints",
        "joined_transforms",
        "parameterization",
        "kl_registry",
        "transform",
        "utils",
    ),
)
