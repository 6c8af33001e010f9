# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.base_pooling import _Pool as _Pool
from tl_nn.modules.pooling import *
from tl_nn.modules.pooling import _MaxPoolNd as _MaxPoolNd
from tl_nn.modules.pooling import _MaxUnpoolNd as _MaxUnpoolNd
