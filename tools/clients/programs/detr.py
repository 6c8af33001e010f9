"""transformers, detection and segmentation heads: SegFormer and YOLOS on one picture."""

import torch
from transformers import (
    SegformerConfig,
    SegformerForSemanticSegmentation,
    YolosConfig,
    YolosForObjectDetection,
)


def main():
    torch.manual_seed(0)
    stages = {"depths": [1, 1], "hidden_sizes": [16, 32], "num_attention_heads": [1, 2], "sr_ratios": [2, 1]}
    shape = {"num_encoder_blocks": 2, "patch_sizes": [7, 3], "strides": [4, 2], "mlp_ratios": [2, 2]}
    segment = SegformerForSemanticSegmentation(
        SegformerConfig(decoder_hidden_size=16, num_labels=4, **stages, **shape)
    )
    pixels = torch.randn(1, 3, 32, 32)
    mask = segment.eval()(pixels, labels=torch.randint(0, 4, (1, 32, 32)))
    mask.loss.backward()
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    detect = YolosForObjectDetection(
        YolosConfig(image_size=[32, 32], patch_size=8, num_detection_tokens=5, **sizes)
    )
    boxes = detect.eval()(pixels)
    return {"loss": mask.loss, "mask": mask.logits, "boxes": boxes.pred_boxes, "classes": boxes.logits}
