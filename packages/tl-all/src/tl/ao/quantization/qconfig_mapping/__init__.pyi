# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.qconfig_mapping import *
