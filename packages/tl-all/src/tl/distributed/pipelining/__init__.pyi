# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.pipelining import *

from . import microbatch as microbatch
from . import schedules as schedules
from . import stage as stage
