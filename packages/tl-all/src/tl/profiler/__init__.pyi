# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.profiler_kinds import ExperimentalConfig as __ExperimentalConfig_
from tl_profiler import DeviceType as DeviceType
from tl_profiler import ExecutionTraceObserver as ExecutionTraceObserver
from tl_profiler import ProfilerAction as ProfilerAction
from tl_profiler import ProfilerActivity as ProfilerActivity
from tl_profiler import RecordScope as RecordScope
from tl_profiler import kineto_available as kineto_available
from tl_profiler import profile as profile
from tl_profiler import record_function as record_function
from tl_profiler import schedule as schedule
from tl_profiler import supported_activities as supported_activities
from tl_profiler import tensorboard_trace_handler as tensorboard_trace_handler
from tl_profiler.profiler import _KinetoProfile as _KinetoProfile
from tl_profiler.trace_observer import _ITraceObserver as _ITraceObserver

from . import itt as itt
from . import profiler as profiler
from . import python_tracer as python_tracer

_ExperimentalConfig = __ExperimentalConfig_
