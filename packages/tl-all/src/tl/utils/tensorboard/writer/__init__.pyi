# Written by `python -m tools.facade_stubs --write`.
from tl_utils.tensorboard.writer import *
from tl_utils.tensorboard.writer import _EventFiles as _EventFiles
