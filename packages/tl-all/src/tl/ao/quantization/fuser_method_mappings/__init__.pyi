# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.fuser_method_mappings import *
