# Written by `python -m tools.facade_stubs --write`.
from tl_nn.init import *
from tl_nn.init import _Normal as _Normal
from tl_nn.init import _Uniform as _Uniform
from tl_nn.init import constant as constant
from tl_nn.init import dirac as dirac
from tl_nn.init import eye as eye
from tl_nn.init import kaiming_normal as kaiming_normal
from tl_nn.init import kaiming_uniform as kaiming_uniform
from tl_nn.init import normal as normal
from tl_nn.init import orthogonal as orthogonal
from tl_nn.init import sparse as sparse
from tl_nn.init import uniform as uniform
from tl_nn.init import xavier_normal as xavier_normal
from tl_nn.init import xavier_uniform as xavier_uniform
