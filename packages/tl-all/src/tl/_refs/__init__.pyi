# Written by `python -m tools.facade_stubs --write`.
from tl_core.compat.refs import *

from . import fft as fft
from . import linalg as linalg
from . import nn as nn
from . import special as special
