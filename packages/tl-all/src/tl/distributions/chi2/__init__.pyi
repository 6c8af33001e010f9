# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.chi2 import *
