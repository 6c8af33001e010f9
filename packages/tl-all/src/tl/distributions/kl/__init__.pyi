# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.kl import *
from tl_distributions.kl import _Match as _Match
