# Written by `python -m tools.facade_stubs --write`.
from tl_core.testing import *

from . import _comparison as _comparison
from . import _internal as _internal
