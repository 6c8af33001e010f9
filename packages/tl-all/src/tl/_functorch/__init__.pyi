# Written by `python -m tools.facade_stubs --write`.
from . import aot_autograd as aot_autograd
from . import batch_norm_replacement as batch_norm_replacement
from . import compilers as compilers
from . import config as config
from . import functional_call as functional_call
from . import make_functional as make_functional
from . import partitioners as partitioners
from . import pyfunctorch as pyfunctorch
