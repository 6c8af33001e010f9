# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.pipelining.schedule_base import _PipelineSchedule as _PipelineSchedule
from tl_distributed.pipelining.schedule_base import _PipelineScheduleRuntime as _PipelineScheduleRuntime
from tl_distributed.pipelining.schedules import *
from tl_distributed.pipelining.schedules import _Rounds as _Rounds
from tl_distributed.pipelining.schedules import _ScheduleForwardOnly as _ScheduleForwardOnly
