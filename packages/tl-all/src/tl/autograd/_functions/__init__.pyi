# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.compat.older_functions import *
