# Written by `python -m tools.facade_stubs --write`.
from tl_core.masked.maskedtensor import *

from . import binary as binary
from . import core as core
from . import creation as creation
from . import passthrough as passthrough
from . import reductions as reductions
from . import unary as unary
