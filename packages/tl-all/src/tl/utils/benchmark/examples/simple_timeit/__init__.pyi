# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.examples.simple_timeit import main as main
from tl_utils.benchmark.utils.timer import Timer as Timer
