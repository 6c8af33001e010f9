# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.transformer import *
from tl_nn.modules.transformer import _Layer as _Layer
from tl_nn.modules.transformer import _Stack as _Stack
