"""The detectors of reports."""

from .detector_base import (
    DETECTOR_IS_POST_OBS_KEY,
    DETECTOR_OBS_ARGS_KEY,
    DETECTOR_OBS_TO_INSERT_KEY,
    DETECTOR_TARGET_NODE_KEY,
    DetectorBase,
    DetectorQConfigInfo,
)
from .dynamic_static_detector import DynamicStaticDetector
from .equalization_detector import InputWeightEqualizationDetector
from .outlier_detector import OutlierDetector
from .per_channel_detector import PerChannelDetector

__all__ = [
    "DETECTOR_IS_POST_OBS_KEY",
    "DETECTOR_OBS_ARGS_KEY",
    "DETECTOR_OBS_TO_INSERT_KEY",
    "DETECTOR_TARGET_NODE_KEY",
    "DetectorBase",
    "DetectorQConfigInfo",
    "DynamicStaticDetector",
    "InputWeightEqualizationDetector",
    "OutlierDetector",
    "PerChannelDetector",
]
