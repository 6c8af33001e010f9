# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.examples.fuzzer import main as main
from tl_utils.benchmark.op_fuzzers.binary import BinaryOpFuzzer as BinaryOpFuzzer
from tl_utils.benchmark.utils.common import Measurement as Measurement
from tl_utils.benchmark.utils.timer import Timer as Timer
