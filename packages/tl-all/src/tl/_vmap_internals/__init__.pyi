# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.func.older_vmap import *
