# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.function import *
from tl_autograd.function import _FunctionMeta as _FunctionMeta
from tl_autograd.function import _NestedContext as _NestedContext
from tl_autograd.function import _SingleLevelFunction as _SingleLevelFunction
