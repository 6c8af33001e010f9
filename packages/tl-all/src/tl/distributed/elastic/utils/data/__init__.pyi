# Written by `python -m tools.facade_stubs --write`.
from tl_data.elastic import *
from tl_data.elastic import cycling_iterator as cycling_iterator
from tl_data.elastic import elastic_distributed_sampler as elastic_distributed_sampler
