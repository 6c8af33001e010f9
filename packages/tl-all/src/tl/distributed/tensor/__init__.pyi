# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.tensor import *

from . import _api as _api
from . import _dtensor_spec as _dtensor_spec
from . import _utils as _utils
from . import debug as debug
from . import device_mesh as device_mesh
from . import experimental as experimental
from . import parallel as parallel
from . import placement_types as placement_types
