# Written by `python -m tools.facade_stubs --write`.
from tl_core.testing.comparison import *
from tl_core.testing.comparison import _Different as _Different
from tl_core.testing.comparison import _Rules as _Rules
