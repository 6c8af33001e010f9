# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.pipelining.stage import *
from tl_distributed.pipelining.stage import _PipelineStage as _PipelineStage
from tl_distributed.pipelining.stage import _PipelineStageBase as _PipelineStageBase
