# Written by `python -m tools.facade_stubs --write`.
from tl_core.dispatch.context_managers import _DecoratorContextManager as _DecoratorContextManager
from tl_core.dispatch.context_managers import (
    _NoParamDecoratorContextManager as _NoParamDecoratorContextManager,
)
from tl_core.dispatch.grad_mode import _ContextDecorator as _ContextDecorator
