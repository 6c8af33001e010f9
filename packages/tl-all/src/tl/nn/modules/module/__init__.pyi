# Written by `python -m tools.facade_stubs --write`.
from tl_nn.modules.module import *
from tl_nn.modules.module import _HooksMixin as _HooksMixin
from tl_nn.modules.registration import _RegistrationMixin as _RegistrationMixin
from tl_nn.modules.state_dict import _IncompatibleKeys as _IncompatibleKeys
from tl_nn.modules.state_dict import _StateDictMixin as _StateDictMixin
from tl_nn.modules.to import _ToMixin as _ToMixin
