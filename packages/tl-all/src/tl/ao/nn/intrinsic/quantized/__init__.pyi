# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.quantized.modules.bn_relu import BNReLU2d as BNReLU2d
from tl_quantization.nn.intrinsic.quantized.modules.bn_relu import BNReLU3d as BNReLU3d
from tl_quantization.nn.intrinsic.quantized.modules.conv_add import ConvAdd2d as ConvAdd2d
from tl_quantization.nn.intrinsic.quantized.modules.conv_add import ConvAddReLU2d as ConvAddReLU2d
from tl_quantization.nn.intrinsic.quantized.modules.conv_relu import ConvReLU1d as ConvReLU1d
from tl_quantization.nn.intrinsic.quantized.modules.conv_relu import ConvReLU2d as ConvReLU2d
from tl_quantization.nn.intrinsic.quantized.modules.conv_relu import ConvReLU3d as ConvReLU3d
from tl_quantization.nn.intrinsic.quantized.modules.linear_relu import LinearLeakyReLU as LinearLeakyReLU
from tl_quantization.nn.intrinsic.quantized.modules.linear_relu import LinearReLU as LinearReLU
from tl_quantization.nn.intrinsic.quantized.modules.linear_relu import LinearTanh as LinearTanh

from . import dynamic as dynamic
from . import modules as modules
