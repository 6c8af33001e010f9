# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.lkj_cholesky import *
