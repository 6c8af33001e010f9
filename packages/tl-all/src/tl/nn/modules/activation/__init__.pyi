# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.activation import *
from tl_nn.modules.activation import _Shrink as _Shrink
from tl_nn.modules.base_activation import _MaybeInPlace as _MaybeInPlace
