# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.compat.native_profiler_names import *
