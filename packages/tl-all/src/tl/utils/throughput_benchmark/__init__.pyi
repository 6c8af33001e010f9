# Written by `python -m tools.facade_stubs --write`.
from tl_utils.throughput_benchmark import *
