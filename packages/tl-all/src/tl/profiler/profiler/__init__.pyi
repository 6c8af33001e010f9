# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.profiler import profile as __Collector_
from tl_profiler.profiler import *
from tl_profiler.profiler import _KinetoProfile as _KinetoProfile
from tl_profiler.trace_observer import _ITraceObserver as _ITraceObserver

_Collector = __Collector_
