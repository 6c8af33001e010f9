# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.adaptive_pooling import _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd
from tl_nn.modules.adaptive_pooling import _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd
from tl_nn.modules.average_pooling import _AvgPoolNd as _AvgPoolNd
from tl_nn.modules.average_pooling import _LPPoolNd as _LPPoolNd
from tl_nn.modules.base_pooling import _Pool as _Pool
from tl_nn.modules.pooling import *
from tl_nn.modules.pooling import _MaxPoolNd as _MaxPoolNd
from tl_nn.modules.pooling import _MaxUnpoolNd as _MaxUnpoolNd
