# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.relaxed_bernoulli import *
