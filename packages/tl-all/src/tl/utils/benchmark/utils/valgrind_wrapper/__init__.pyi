# Written by `python -m tools.facade_stubs --write`.
from . import timer_interface as timer_interface
