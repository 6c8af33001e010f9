# Written by `python -m tools.facade_stubs --write`.
from tl_core.subclasses import *

from . import fake_tensor as fake_tensor
from . import functional_tensor as functional_tensor
