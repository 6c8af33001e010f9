# Written by `python -m tools.facade_stubs --write`.
from tl_core.signal.windows import *

from . import windows as windows
