# Written by `python -m tools.facade_stubs --write`.
from tl_core.subclasses.tracing_context import *
