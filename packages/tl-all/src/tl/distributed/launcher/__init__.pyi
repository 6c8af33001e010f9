# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.launcher import *

from . import api as api
