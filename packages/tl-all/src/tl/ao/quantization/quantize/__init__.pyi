# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.eager_steps import _add_observer_ as _add_observer_
from tl_quantization.compat.eager_steps import _get_observer_dict as _get_observer_dict
from tl_quantization.compat.eager_steps import _get_unique_devices_ as _get_unique_devices_
from tl_quantization.compat.eager_steps import _propagate_qconfig_helper as _propagate_qconfig_helper
from tl_quantization.compat.eager_steps import (
    _register_activation_post_process_hook as _register_activation_post_process_hook,
)
from tl_quantization.compat.eager_steps import (
    _remove_activation_post_process as _remove_activation_post_process,
)
from tl_quantization.compat.eager_steps import _remove_qconfig as _remove_qconfig
from tl_quantization.fake_quantize import _is_activation_post_process as _is_activation_post_process
from tl_quantization.nn.intrinsic.modules.fused import _FusedModule as _FusedModule
from tl_quantization.quantize import *
