# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.tensor.parallel import *

from . import api as api
from . import ddp as ddp
from . import input_reshard as input_reshard
from . import loss as loss
from . import style as style
