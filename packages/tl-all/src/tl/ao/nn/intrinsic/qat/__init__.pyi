# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvBn1d as ConvBn1d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvBn2d as ConvBn2d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvBn3d as ConvBn3d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvBnReLU1d as ConvBnReLU1d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvBnReLU2d as ConvBnReLU2d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvBnReLU3d as ConvBnReLU3d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvReLU1d as ConvReLU1d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvReLU2d as ConvReLU2d
from tl_quantization.nn.intrinsic.qat.modules.conv_fused import ConvReLU3d as ConvReLU3d
from tl_quantization.nn.intrinsic.qat.modules.folding import freeze_bn_stats as freeze_bn_stats
from tl_quantization.nn.intrinsic.qat.modules.folding import update_bn_stats as update_bn_stats
from tl_quantization.nn.intrinsic.qat.modules.linear_fused import LinearBn1d as LinearBn1d
from tl_quantization.nn.intrinsic.qat.modules.linear_relu import LinearReLU as LinearReLU

from . import modules as modules
