# Written by `python -m tools.facade_stubs --write`.
from tl_utils.tensorboard import *

from . import summary as summary
from . import writer as writer
