# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.aot.partitioners import *
from tl_compiler.aot.partitioners import _Joint as _Joint
