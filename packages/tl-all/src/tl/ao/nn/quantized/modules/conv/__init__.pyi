# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.layer_helpers import _reverse_repeat_padding as _reverse_repeat_padding
from tl_quantization.nn.quantized.modules.conv import *
from tl_quantization.nn.quantized.modules.conv import _Conv as _Conv
from tl_quantization.nn.quantized.modules.conv import _ConvNd as _ConvNd
from tl_quantization.nn.quantized.modules.conv import _Transposed as _Transposed
