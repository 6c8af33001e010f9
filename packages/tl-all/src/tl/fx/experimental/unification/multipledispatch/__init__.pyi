# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.unification.multipledispatch import *

from . import conflict as conflict
from . import core as core
from . import dispatcher as dispatcher
from . import utils as utils
from . import variadic as variadic
