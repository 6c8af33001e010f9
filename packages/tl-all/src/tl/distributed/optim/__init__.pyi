# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim import DistributedOptimizer as DistributedOptimizer
from tl_distributed.optim import PostLocalSGDOptimizer as PostLocalSGDOptimizer
from tl_distributed.optim import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer
from tl_distributed.optim import _apply_optimizer_in_backward as _apply_optimizer_in_backward
from tl_distributed.optim import _NamedOptimizer as _NamedOptimizer
from tl_distributed.optim import apply_optimizer_in_backward as apply_optimizer_in_backward

from . import functional_adadelta as functional_adadelta
from . import functional_adagrad as functional_adagrad
from . import functional_adam as functional_adam
from . import functional_adamax as functional_adamax
from . import functional_adamw as functional_adamw
from . import functional_rmsprop as functional_rmsprop
from . import functional_rprop as functional_rprop
from . import functional_sgd as functional_sgd
from . import named_optimizer as named_optimizer
from . import optimizer as optimizer
from . import post_localSGD_optimizer as post_localSGD_optimizer
from . import utils as utils
from . import zero_redundancy_optimizer as zero_redundancy_optimizer
