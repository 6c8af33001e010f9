# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.variable import *
from tl_autograd.variable import _Engine as _Engine
from tl_autograd.variable import _VariableMeta as _VariableMeta
