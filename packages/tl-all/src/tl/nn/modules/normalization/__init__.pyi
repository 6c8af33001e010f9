# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.normalization import *
from tl_nn.modules.normalization import _OverLastDims as _OverLastDims
