# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.one_hot_categorical import *
