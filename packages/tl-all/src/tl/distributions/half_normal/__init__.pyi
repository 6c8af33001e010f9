# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.half_normal import *
