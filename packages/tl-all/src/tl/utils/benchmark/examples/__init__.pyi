# Written by `python -m tools.facade_stubs --write`.
from . import compare as compare
from . import fuzzer as fuzzer
from . import op_benchmark as op_benchmark
from . import simple_timeit as simple_timeit
from . import spectral_ops_fuzz_test as spectral_ops_fuzz_test
