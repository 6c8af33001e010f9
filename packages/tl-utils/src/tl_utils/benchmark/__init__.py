"""Measuring how long statements take, and how many instructions they need.

>>> from tl_utils.benchmark import Timer
>>> timer = Timer("x.sum()", setup="x = torch.ones(1000)")
>>> timer.blocked_autorange(min_run_time=0.01).median < 1.0
True
"""

from tl_utils.benchmark.op_fuzzers import *
from tl_utils.benchmark.utils.common import *
from tl_utils.benchmark.utils.compare import *
from tl_utils.benchmark.utils.fuzzer import *
from tl_utils.benchmark.utils.sparse_fuzzer import *
from tl_utils.benchmark.utils.timer import *
from tl_utils.benchmark.utils.valgrind_wrapper.timer_interface import *
