# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantized.dynamic.modules.rnn import *
