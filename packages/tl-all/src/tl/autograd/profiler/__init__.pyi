# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.profiler import *
from tl_autograd.profiler import _Markers as _Markers
from tl_autograd.profiler import _ProfilerStats as _ProfilerStats
from tl_autograd.profiler import _Switches as _Switches
