# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.tensor_type import *
from tl_compiler.fx.tensor_type import _DynType as _DynType
