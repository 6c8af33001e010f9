# Written by `python -m tools.facade_stubs --write`.
from tl_amp.cpu.autocast_mode import autocast as autocast
