# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.numeric_suite.graph_loggers import *
from tl_quantization.numeric_suite.graph_loggers import _Pair as _Pair
from tl_quantization.numeric_suite.graph_loggers import _Shadows as _Shadows
from tl_quantization.numeric_suite.graph_loggers import _Source as _Source
from tl_quantization.numeric_suite.graph_loggers import _Writer as _Writer
