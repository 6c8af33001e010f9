# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.layer_equalization import *
