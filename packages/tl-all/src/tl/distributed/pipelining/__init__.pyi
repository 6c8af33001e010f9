# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.pipelining import *
from tl_distributed.pipelining.schedules import _ScheduleForwardOnly as _ScheduleForwardOnly

from . import microbatch as microbatch
from . import schedules as schedules
from . import stage as stage
