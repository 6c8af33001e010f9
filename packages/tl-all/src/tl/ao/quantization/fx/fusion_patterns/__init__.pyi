# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.fusion_patterns import *
