# Written by `python -m tools.facade_stubs --write`.
from tl_amp.autocast_mode import F as F
from tl_amp.autocast_mode import _UnmanagedAutocast as _UnmanagedAutocast
from tl_amp.autocast_mode import autocast as autocast
from tl_amp.autocast_mode import autocast_decorator as autocast_decorator
from tl_amp.autocast_mode import custom_bwd as custom_bwd
from tl_amp.autocast_mode import custom_fwd as custom_fwd
from tl_amp.grad_scaler import AVAILABLE as AVAILABLE
from tl_core.dispatch.autocast import is_autocast_available as is_autocast_available
