# Written by `python -m tools.facade_stubs --write`.
from tl_core.sparse import *

from . import semi_structured as semi_structured
