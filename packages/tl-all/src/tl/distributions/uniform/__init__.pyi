# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.uniform import *
