# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.base_conv import _ConvNd as _ConvNd
from tl_nn.modules.conv import *
from tl_nn.modules.conv import _LazyConvolution as _LazyConvolution
from tl_nn.modules.conv import _LazyConvTranspose as _LazyConvTranspose
from tl_nn.modules.conv import _LazyConvXdMixin as _LazyConvXdMixin
from tl_nn.modules.conv_transpose import _ConvTransposeMixin as _ConvTransposeMixin
from tl_nn.modules.conv_transpose import _ConvTransposeNd as _ConvTransposeNd
from tl_nn.modules.convolution import _Convolution as _Convolution
