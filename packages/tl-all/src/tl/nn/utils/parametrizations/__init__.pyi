# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.parametrizations import *
from tl_nn.utils.parametrizations import _OrthMaps as _OrthMaps
from tl_nn.utils.parametrizations import _Orthogonal as _Orthogonal
from tl_nn.utils.parametrizations import _SpectralNorm as _SpectralNorm
from tl_nn.utils.parametrizations import _WeightNorm as _WeightNorm
