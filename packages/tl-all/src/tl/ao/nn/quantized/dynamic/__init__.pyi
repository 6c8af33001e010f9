# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.quantized.dynamic.modules.conv import Conv1d as Conv1d
from tl_quantization.nn.quantized.dynamic.modules.conv import Conv2d as Conv2d
from tl_quantization.nn.quantized.dynamic.modules.conv import Conv3d as Conv3d
from tl_quantization.nn.quantized.dynamic.modules.conv import ConvTranspose1d as ConvTranspose1d
from tl_quantization.nn.quantized.dynamic.modules.conv import ConvTranspose2d as ConvTranspose2d
from tl_quantization.nn.quantized.dynamic.modules.conv import ConvTranspose3d as ConvTranspose3d
from tl_quantization.nn.quantized.dynamic.modules.linear import Linear as Linear
from tl_quantization.nn.quantized.dynamic.modules.rnn import GRU as GRU
from tl_quantization.nn.quantized.dynamic.modules.rnn import LSTM as LSTM
from tl_quantization.nn.quantized.dynamic.modules.rnn import GRUCell as GRUCell
from tl_quantization.nn.quantized.dynamic.modules.rnn import LSTMCell as LSTMCell
from tl_quantization.nn.quantized.dynamic.modules.rnn import RNNCell as RNNCell

from . import modules as modules
