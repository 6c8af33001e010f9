# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.op_fuzzers.unary import *
