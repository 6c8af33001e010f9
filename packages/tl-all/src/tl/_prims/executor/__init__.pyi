# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.prims_executor import *
