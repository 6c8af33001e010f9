# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.eager_tables import (
    DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS as DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS,
)
from tl_quantization.compat.eager_tables import _get_special_act_post_process as _get_special_act_post_process
from tl_quantization.compat.eager_tables import _has_special_act_post_process as _has_special_act_post_process
from tl_quantization.compat.eager_tables import (
    get_default_float_to_quantized_operator_mappings as get_default_float_to_quantized_operator_mappings,
)
from tl_quantization.compat.eager_tables import get_quantized_operator as get_quantized_operator
from tl_quantization.quantization_mappings import *
