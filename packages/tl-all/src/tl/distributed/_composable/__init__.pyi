# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.parallel.composable import *

from . import fsdp as fsdp
