# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.graph_steps import (
    _get_module_name_regex_qconfig as _get_module_name_regex_qconfig,
)
