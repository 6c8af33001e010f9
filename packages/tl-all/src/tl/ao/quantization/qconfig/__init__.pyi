# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.eager_tables import QConfigAny as QConfigAny
from tl_quantization.compat.eager_tables import QConfigDynamic as QConfigDynamic
from tl_quantization.compat.eager_tables import (
    _add_module_to_qconfig_obs_ctr as _add_module_to_qconfig_obs_ctr,
)
from tl_quantization.qconfig import *
from tl_quantization.qconfig import _Pair as _Pair
