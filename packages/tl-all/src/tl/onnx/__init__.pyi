# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.onnx import *

from . import _internal as _internal
from . import errors as errors
from . import operators as operators
from . import symbolic_helper as symbolic_helper
from . import symbolic_opset7 as symbolic_opset7
from . import symbolic_opset8 as symbolic_opset8
from . import symbolic_opset9 as symbolic_opset9
from . import symbolic_opset10 as symbolic_opset10
from . import symbolic_opset11 as symbolic_opset11
from . import symbolic_opset12 as symbolic_opset12
from . import symbolic_opset13 as symbolic_opset13
from . import symbolic_opset14 as symbolic_opset14
from . import symbolic_opset15 as symbolic_opset15
from . import symbolic_opset16 as symbolic_opset16
from . import symbolic_opset17 as symbolic_opset17
from . import symbolic_opset18 as symbolic_opset18
from . import symbolic_opset19 as symbolic_opset19
from . import symbolic_opset20 as symbolic_opset20
from . import testing as testing
from . import utils as utils
from . import verification as verification
