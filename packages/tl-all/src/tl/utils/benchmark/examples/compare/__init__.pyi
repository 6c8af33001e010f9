# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.examples.compare import STATEMENTS as STATEMENTS
from tl_utils.benchmark.examples.compare import main as main
from tl_utils.benchmark.utils.compare import Compare as Compare
from tl_utils.benchmark.utils.timer import Timer as Timer
