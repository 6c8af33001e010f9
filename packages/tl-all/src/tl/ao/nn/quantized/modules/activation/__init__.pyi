# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantizable.modules.activation import MultiheadAttention as __Quantizable_
from tl_quantization.nn.quantized.modules.activation import *

_Quantizable = __Quantizable_
