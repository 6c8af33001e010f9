"""Pipelines: the stages of a model on several ranks, and schedules of their microbatches."""

from .actions import Action, check_tables
from .microbatch import TensorChunkSpec, merge_chunks, split_args_kwargs_into_chunks
from .schedules import (
    PipelineScheduleMulti,
    PipelineScheduleSingle,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from .stage import PipelineStage

__all__ = [
    "Action",
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "TensorChunkSpec",
    "check_tables",
    "merge_chunks",
    "split_args_kwargs_into_chunks",
]
