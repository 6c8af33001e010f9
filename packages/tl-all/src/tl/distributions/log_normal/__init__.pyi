# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.log_normal import *
