# Written by `python -m tools.facade_stubs --write`.
from tl_data.elastic import *

from . import cycling_iterator as cycling_iterator
from . import elastic_distributed_sampler as elastic_distributed_sampler
