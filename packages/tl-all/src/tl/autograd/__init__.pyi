# Written by `python -m tools.facade_stubs --write`.
from tl_autograd import Function as Function
from tl_autograd import GradcheckError as GradcheckError
from tl_autograd import NestedIOFunction as NestedIOFunction
from tl_autograd import SavedTensor as SavedTensor
from tl_autograd import Variable as Variable
from tl_autograd import backward as backward
from tl_autograd import detect_anomaly as detect_anomaly
from tl_autograd import enable_grad as enable_grad
from tl_autograd import grad as grad
from tl_autograd import gradcheck as gradcheck
from tl_autograd import gradgradcheck as gradgradcheck
from tl_autograd import inference_mode as inference_mode
from tl_autograd import no_grad as no_grad
from tl_autograd import set_detect_anomaly as set_detect_anomaly
from tl_autograd import set_grad_enabled as set_grad_enabled
from tl_autograd import set_multithreading_enabled as set_multithreading_enabled
from tl_autograd.compat.native_names import DeviceType as DeviceType
from tl_autograd.compat.native_names import ProfilerActivity as ProfilerActivity
from tl_autograd.compat.native_names import _disable_profiler as _disable_profiler
from tl_autograd.compat.native_names import _is_checkpoint_valid as _is_checkpoint_valid
from tl_autograd.compat.native_names import _profiler_enabled as _profiler_enabled
from tl_autograd.compat.native_names import (
    _record_function_with_args_enter as _record_function_with_args_enter,
)
from tl_autograd.compat.native_names import _record_function_with_args_exit as _record_function_with_args_exit
from tl_autograd.compat.native_names import _supported_activities as _supported_activities
from tl_autograd.compat.native_names import kineto_available as kineto_available
from tl_autograd.gradient_shapes import _calculate_shape as _calculate_shape
from tl_core.tensors.version_counters import (
    unsafe_preserve_version_counter as __unsafe_preserve_version_counter_,
)

from . import _functions as _functions
from . import anomaly_mode as anomaly_mode
from . import forward_ad as forward_ad
from . import function as function
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from . import profiler as profiler
from . import profiler_legacy as profiler_legacy
from . import profiler_util as profiler_util
from . import variable as variable

_unsafe_preserve_version_counter = __unsafe_preserve_version_counter_
