# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.qconfig import *
from tl_quantization.qconfig import _Pair as _Pair
