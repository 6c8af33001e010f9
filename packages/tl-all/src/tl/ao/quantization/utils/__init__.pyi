# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.observed_graphs import _parent_name as _parent_name
from tl_quantization.utils import *
