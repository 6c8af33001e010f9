# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.numeric_suite.subgraphs import *
from tl_quantization.numeric_suite.subgraphs import _Layers as _Layers
