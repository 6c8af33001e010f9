# Written by `python -m tools.facade_stubs --write`.
from . import common as common
from . import compare as compare
from . import compile as compile
from . import cpp_jit as cpp_jit
from . import fuzzer as fuzzer
from . import sparse_fuzzer as sparse_fuzzer
from . import timer as timer
from . import valgrind_wrapper as valgrind_wrapper
