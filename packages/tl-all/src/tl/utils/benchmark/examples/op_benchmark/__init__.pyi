# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.examples.op_benchmark import BINARY as BINARY
from tl_utils.benchmark.examples.op_benchmark import UNARY as UNARY
from tl_utils.benchmark.examples.op_benchmark import main as main
from tl_utils.benchmark.op_fuzzers.binary import BinaryOpFuzzer as BinaryOpFuzzer
from tl_utils.benchmark.op_fuzzers.unary import UnaryOpFuzzer as UnaryOpFuzzer
from tl_utils.benchmark.utils.compare import Compare as Compare
from tl_utils.benchmark.utils.timer import Timer as Timer
