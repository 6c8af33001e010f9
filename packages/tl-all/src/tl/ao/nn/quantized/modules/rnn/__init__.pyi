# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantizable.modules.rnn import LSTM as __Quantizable_
from tl_quantization.nn.quantized.modules.rnn import *

_Quantizable = __Quantizable_
