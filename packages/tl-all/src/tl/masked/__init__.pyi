# Written by `python -m tools.facade_stubs --write`.
from tl_core.masked import *

from . import maskedtensor as maskedtensor
