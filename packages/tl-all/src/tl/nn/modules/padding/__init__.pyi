# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.padding import *
from tl_nn.modules.padding import _CircularPadNd as _CircularPadNd
from tl_nn.modules.padding import _ConstantPadNd as _ConstantPadNd
from tl_nn.modules.padding import _Pad as _Pad
from tl_nn.modules.padding import _ReflectionPadNd as _ReflectionPadNd
from tl_nn.modules.padding import _ReplicationPadNd as _ReplicationPadNd
from tl_nn.modules.padding import _ZeroPadNd as _ZeroPadNd
