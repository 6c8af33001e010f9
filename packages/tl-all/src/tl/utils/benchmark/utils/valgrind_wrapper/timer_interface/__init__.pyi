# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.utils.valgrind_wrapper.timer_interface import *
from tl_utils.benchmark.utils.valgrind_wrapper.timer_interface import _ValgrindWrapper as _ValgrindWrapper
