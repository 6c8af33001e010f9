# Written by `python -m tools.facade_stubs --write`.
from tl_amp.cuda import *

from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
