# Written by `python -m tools.facade_stubs --write`.
from tl_core.subclasses import *

from . import fake_tensor as fake_tensor
