# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.parallel import DistributedDataParallel as DistributedDataParallel
from tl_nn.parallel import DataParallel as DataParallel
from tl_nn.parallel import data_parallel as data_parallel
from tl_nn.parallel import gather as gather
from tl_nn.parallel import parallel_apply as parallel_apply
from tl_nn.parallel import replicate as replicate
from tl_nn.parallel import scatter as scatter
from tl_nn.parallel import scatter_kwargs as scatter_kwargs

from . import comm as comm
from . import distributed as distributed
from . import scatter_gather as scatter_gather
