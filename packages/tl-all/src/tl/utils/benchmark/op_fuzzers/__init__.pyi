# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.op_fuzzers import *

from . import binary as binary
from . import sparse_binary as sparse_binary
from . import sparse_unary as sparse_unary
from . import spectral as spectral
from . import unary as unary
