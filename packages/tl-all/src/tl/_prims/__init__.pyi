# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.prims import broadcast_in_dim as broadcast_in_dim
from tl_core.compat.prims import convert_element_type as convert_element_type

from .. import _prims_common as utils
