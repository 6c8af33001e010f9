# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.code_imports import CustomBuiltin as __CustomBuiltin_
from tl_compiler.fx.graph import *
from tl_compiler.fx.graph import _Restored as _Restored
from tl_compiler.fx.names import Namespace as __Namespace_

_CustomBuiltin = __CustomBuiltin_
_Namespace = __Namespace_
