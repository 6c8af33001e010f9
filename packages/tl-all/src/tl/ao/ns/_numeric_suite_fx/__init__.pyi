# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.numeric_suite.graphs import *
