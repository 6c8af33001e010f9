# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.compat.symmetric_memory import *
from tl_distributed.compat.symmetric_memory import _SymmetricMemory as _SymmetricMemory
