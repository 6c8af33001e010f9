# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compiler.dynamo_config import *
from tl_compiler.compiler.dynamo_config import _Settings as _Settings
