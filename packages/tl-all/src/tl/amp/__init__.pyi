# Written by `python -m tools.facade_stubs --write`.
from tl_amp import *
from tl_amp.autocast_mode import _enter_autocast as _enter_autocast
from tl_amp.autocast_mode import _exit_autocast as _exit_autocast

from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
