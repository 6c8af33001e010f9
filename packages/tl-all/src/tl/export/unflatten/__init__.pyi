# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.export.unflatten import *
from tl_compiler.export.unflatten import _AttrKind as _AttrKind
from tl_compiler.export.unflatten import _Builder as _Builder
