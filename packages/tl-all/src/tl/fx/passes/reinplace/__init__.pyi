# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.passes.reinplace import *
from tl_compiler.fx.passes.reinplace import _Storages as _Storages
