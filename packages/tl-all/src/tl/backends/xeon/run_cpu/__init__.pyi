# Written by `python -m tools.facade_stubs --write`.
from tl_backends.backends.xeon.run_cpu import *
from tl_backends.backends.xeon.topology import CPUInfo as __CPUinfo_

_CPUinfo = __CPUinfo_
