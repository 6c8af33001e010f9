# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantizable.modules.activation import MultiheadAttention as MultiheadAttention
from tl_quantization.nn.quantizable.modules.rnn import LSTM as LSTM
from tl_quantization.nn.quantizable.modules.rnn import LSTMCell as LSTMCell

from . import modules as modules
