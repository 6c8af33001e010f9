# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.modules.fused import BNReLU2d as BNReLU2d
from tl_quantization.nn.intrinsic.modules.fused import BNReLU3d as BNReLU3d
from tl_quantization.nn.intrinsic.modules.fused import ConvAdd2d as ConvAdd2d
from tl_quantization.nn.intrinsic.modules.fused import ConvAddReLU2d as ConvAddReLU2d
from tl_quantization.nn.intrinsic.modules.fused import ConvBn1d as ConvBn1d
from tl_quantization.nn.intrinsic.modules.fused import ConvBn2d as ConvBn2d
from tl_quantization.nn.intrinsic.modules.fused import ConvBn3d as ConvBn3d
from tl_quantization.nn.intrinsic.modules.fused import ConvBnReLU1d as ConvBnReLU1d
from tl_quantization.nn.intrinsic.modules.fused import ConvBnReLU2d as ConvBnReLU2d
from tl_quantization.nn.intrinsic.modules.fused import ConvBnReLU3d as ConvBnReLU3d
from tl_quantization.nn.intrinsic.modules.fused import ConvReLU1d as ConvReLU1d
from tl_quantization.nn.intrinsic.modules.fused import ConvReLU2d as ConvReLU2d
from tl_quantization.nn.intrinsic.modules.fused import ConvReLU3d as ConvReLU3d
from tl_quantization.nn.intrinsic.modules.fused import LinearBn1d as LinearBn1d
from tl_quantization.nn.intrinsic.modules.fused import LinearLeakyReLU as LinearLeakyReLU
from tl_quantization.nn.intrinsic.modules.fused import LinearReLU as LinearReLU
from tl_quantization.nn.intrinsic.modules.fused import LinearTanh as LinearTanh

from . import fused as fused
