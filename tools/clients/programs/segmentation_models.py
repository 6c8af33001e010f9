"""segmentation-models-pytorch: encoders of timm with several decoders, and its losses."""

import segmentation_models_pytorch as smp
import torch


def main():
    outputs, picture = {}, torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    for kind in (smp.Unet, smp.FPN, smp.Linknet):
        torch.manual_seed(0)
        model = kind("resnet18", encoder_weights=None, classes=2).eval()
        outputs[kind.__name__] = model(picture)
    labels = torch.randint(0, 2, (1, 64, 64), generator=torch.Generator().manual_seed(1))
    losses = [
        smp.losses.DiceLoss("multiclass"),
        smp.losses.FocalLoss("multiclass"),
        smp.losses.LovaszLoss("multiclass"),
    ]
    return {"outputs": outputs, "losses": [loss(outputs["Unet"], labels) for loss in losses]}
