# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.script_layers import *
from tl_quantization.compat.script_layers import _Removed as _Removed
