"""The Kullback-Leibler divergence, with those of the package registered.

>>> from tl_distributions import Normal
>>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
tensor(0.5000)
"""

from . import closed_forms as closed_forms  # registers them
from .kl_registry import _KL_MEMOIZE as _KL_MEMOIZE
from .kl_registry import _KL_REGISTRY as _KL_REGISTRY
from .kl_registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
