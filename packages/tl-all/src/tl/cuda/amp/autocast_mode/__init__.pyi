# Written by `python -m tools.facade_stubs --write`.
from tl_amp.autocast_mode import _cast as _cast
from tl_amp.cuda.autocast_mode import autocast as autocast
