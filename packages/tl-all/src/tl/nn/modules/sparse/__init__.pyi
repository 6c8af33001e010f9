# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.sparse import *
from tl_nn.modules.sparse import _Table as _Table
