# Written by `python -m tools.facade_stubs --write`.
from tl_core.base.component_logging import *
from tl_core.base.component_logging import _StderrHandler as _StderrHandler
