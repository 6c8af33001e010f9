# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.graph import *
from tl_autograd.graph import _MultiHandle as _MultiHandle
from tl_autograd.graph import _TensorEdge as _TensorEdge
