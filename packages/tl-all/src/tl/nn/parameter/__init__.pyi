# Written by `python -m tools.facade_stubs --write`.
from tl_nn.parameter import *
from tl_nn.parameter import UninitializedTensorMixin as UninitializedTensorMixin
