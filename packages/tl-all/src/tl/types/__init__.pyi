# Written by `python -m tools.facade_stubs --write`.
from tl_core._C import device as __device_
from tl_core._C import dtype as __dtype_
from tl_core._C import layout as __layout_
from tl_core.types import *

_device = __device_
_dtype = __dtype_
_layout = __layout_
