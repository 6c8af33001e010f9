# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.profiler_legacy import *
