# Written by `python -m tools.facade_stubs --write`.
from tl_core.masked.maskedtensor.creation import *
