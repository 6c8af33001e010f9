# Written by `python -m tools.facade_stubs --write`.
from . import _decomposed as _decomposed
from . import _equalize as _equalize
from . import _lower_to_native_backend as _lower_to_native_backend
from . import _model_report as _model_report
from . import fusion_patterns as fusion_patterns
from . import lower_to_fbgemm as lower_to_fbgemm
from . import lower_to_qnnpack as lower_to_qnnpack
from . import lstm_utils as lstm_utils
from . import pattern_utils as pattern_utils
from . import prepare as prepare
from . import qconfig_mapping_utils as qconfig_mapping_utils
from . import quantization_patterns as quantization_patterns
from . import quantization_types as quantization_types
from . import quantize_handler as quantize_handler
from . import utils as utils
