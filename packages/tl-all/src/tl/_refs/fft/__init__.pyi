# Written by `python -m tools.facade_stubs --write`.
from ...fft import *
