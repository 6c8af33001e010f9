# Written by `python -m tools.facade_stubs --write`.
from . import autograd as autograd
from . import custom_ops as custom_ops
from . import fake_impl as fake_impl
from . import infer_schema as infer_schema
from . import simple_registry as simple_registry
from . import utils as utils
