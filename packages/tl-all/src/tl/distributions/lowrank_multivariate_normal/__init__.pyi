# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.lowrank_multivariate_normal import *
