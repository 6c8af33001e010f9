# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.export import *

from . import _numeric_debugger as _numeric_debugger
from . import qat_utils as qat_utils
from . import representation as representation
from . import utils as utils
