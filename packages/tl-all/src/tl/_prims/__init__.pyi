# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.prims import RETURN_TYPE as RETURN_TYPE
from tl_core.compat.prims import expand_dims as expand_dims

from .. import _prims_common as utils
from . import executor as executor
from . import rng_prims as rng_prims
