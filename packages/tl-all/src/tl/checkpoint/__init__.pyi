# Written by `python -m tools.facade_stubs --write`.
from tl_checkpoint import inert as inert
from tl_checkpoint.inert import Inert as Inert
from tl_checkpoint.serialization import load as load
from tl_checkpoint.serialization import save as save

from .. import serialization as serialization
