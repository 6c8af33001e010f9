# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.negative_binomial import *
