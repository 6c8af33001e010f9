# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.container import *
from tl_nn.modules.container import _Numbered as _Numbered
