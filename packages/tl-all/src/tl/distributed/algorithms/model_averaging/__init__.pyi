# Written by `python -m tools.facade_stubs --write`.
from . import averagers as averagers
from . import hierarchical_model_averager as hierarchical_model_averager
from . import utils as utils
