# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.mixture_same_family import *
