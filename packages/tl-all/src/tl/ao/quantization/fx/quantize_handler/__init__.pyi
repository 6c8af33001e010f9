# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.graph_steps import _default_root_node_getter as _default_root_node_getter
from tl_quantization.compat.handlers import *
