# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.lower_to_fbgemm import *
