# Written by `python -m tools.facade_stubs --write`.
from tl_utils.bundled_inputs import *
from tl_utils.bundled_inputs import MAX_RAW_TENSOR_SIZE as MAX_RAW_TENSOR_SIZE
from tl_utils.bundled_inputs import _Bundle as _Bundle
from tl_utils.bundled_inputs import _Packed as _Packed
