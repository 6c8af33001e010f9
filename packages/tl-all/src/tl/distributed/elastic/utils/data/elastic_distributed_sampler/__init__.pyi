# Written by `python -m tools.facade_stubs --write`.
from tl_data.elastic.elastic_distributed_sampler import *
