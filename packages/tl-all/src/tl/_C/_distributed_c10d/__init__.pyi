# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.compat.symmetric_memory import _SymmetricMemory as _SymmetricMemory
from tl_distributed.native_names import *
from tl_distributed.parallel.reducer import Reducer as Reducer
