# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.older_custom_ops.operators import *
