# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantizable.modules.rnn import *
from tl_quantization.nn.quantizable.modules.rnn import _LSTMLayer as _LSTMLayer
from tl_quantization.nn.quantizable.modules.rnn import _LSTMSingleLayer as _LSTMSingleLayer
