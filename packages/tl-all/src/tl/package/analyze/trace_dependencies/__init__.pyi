# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.analyze.trace_dependencies import *
