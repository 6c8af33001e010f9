# Written by `python -m tools.facade_stubs --write`.
from tl_amp.cpu import *

from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
