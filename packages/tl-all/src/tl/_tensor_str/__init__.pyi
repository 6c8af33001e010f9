# Written by `python -m tools.facade_stubs --write`.
from tl_core._C import Tensor as Tensor
from tl_core.dispatch.grad_mode import no_grad as no_grad
from tl_core.dispatch.modes import modes_off as modes_off
from tl_core.overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from tl_core.tensors.printing import PRINT_OPTS as PRINT_OPTS
from tl_core.tensors.printing import PrintOptions as PrintOptions
from tl_core.tensors.printing import _Complex as _Complex
from tl_core.tensors.printing import _Formatter as _Formatter
from tl_core.tensors.printing import get_printoptions as get_printoptions
from tl_core.tensors.printing import get_summarized_data as get_summarized_data
from tl_core.tensors.printing import printoptions as printoptions
from tl_core.tensors.printing import set_printoptions as set_printoptions
from tl_core.tensors.printing import suffix_makers as suffix_makers
from tl_core.tensors.printing import wrapper_text as wrapper_text
