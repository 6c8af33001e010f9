# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.quantization_types import *
