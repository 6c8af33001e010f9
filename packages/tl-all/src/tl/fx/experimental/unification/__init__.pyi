# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.unification import *

from . import core as core
from . import dispatch as dispatch
from . import match as match
from . import more as more
from . import multipledispatch as multipledispatch
from . import unification_tools as unification_tools
from . import utils as utils
from . import variable as variable
