# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.triton_meta import *
