# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.eager_tables import (
    _DEFAULT_OP_LIST_TO_FUSER_METHOD as _DEFAULT_OP_LIST_TO_FUSER_METHOD,
)
from tl_quantization.compat.eager_tables import _sequential_wrapper2 as _sequential_wrapper2
from tl_quantization.fuser_method_mappings import *
