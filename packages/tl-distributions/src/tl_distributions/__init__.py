"""Probability distributions: sampling with gradients, densities, transforms, constraints, divergences.

>>> import tl_core
>>> from tl_distributions import Normal, kl_divergence
>>> standard = Normal(0.0, 1.0)
>>> standard.log_prob(tl_core.tensor(0.0)), standard.cdf(tl_core.tensor(0.0))
(tensor(-0.9189), tensor(0.5000))
>>> kl_divergence(standard, Normal(1.0, 1.0))
tensor(0.5000)
"""

import sys

from tl_core.base.public_names import listed_names

from . import closed_forms as closed_forms  # registers divergences
from . import constraints, transforms
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
from .version import __version__ as __version__
from .von_mises import *
from .weibull import *
from .wishart import *


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__])
