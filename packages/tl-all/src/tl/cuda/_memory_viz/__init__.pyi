# Written by `python -m tools.facade_stubs --write`.
from tl_profiler.memory_viz import *
