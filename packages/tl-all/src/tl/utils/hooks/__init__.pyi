# Written by `python -m tools.facade_stubs --write`.
from tl_autograd.hooks import RemovableHandle as RemovableHandle
from tl_autograd.hooks import unserializable_hook as unserializable_hook
from tl_autograd.hooks import warn_if_has_hooks as warn_if_has_hooks
from tl_nn.modules.backward_hook import BackwardHook as BackwardHook
