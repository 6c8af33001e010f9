# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.bias_correction import *
