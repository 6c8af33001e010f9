# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.backends.flight_recorder import *
