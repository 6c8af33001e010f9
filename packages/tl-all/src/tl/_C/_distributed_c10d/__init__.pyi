# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.native_names import *
from tl_distributed.parallel.reducer import Reducer as Reducer
