from .container import *
from .module import *
from . import container, module
__all__ = container.__all__+module.__all__
