# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.examples.spectral_ops_fuzz_test import TRANSFORMS as TRANSFORMS
from tl_utils.benchmark.examples.spectral_ops_fuzz_test import main as main
from tl_utils.benchmark.op_fuzzers.spectral import SpectralOpFuzzer as SpectralOpFuzzer
from tl_utils.benchmark.utils.compare import Compare as Compare
from tl_utils.benchmark.utils.timer import Timer as Timer
