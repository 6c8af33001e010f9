# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.dropout import *
from tl_nn.modules.dropout import _DropoutNd as _DropoutNd
