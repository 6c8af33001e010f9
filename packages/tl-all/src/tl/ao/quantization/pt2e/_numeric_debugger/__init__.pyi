# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.export.numeric_debugger import *
