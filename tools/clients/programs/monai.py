"""monai: a segmentation net, Dice losses and sliding windows over a volume."""

import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, FocalLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet


def main():
    torch.manual_seed(0)
    net = UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,), num_res_units=1)
    volume, labels = torch.randn(1, 1, 16, 16, 16), torch.randint(0, 2, (1, 1, 16, 16, 16))
    loss = DiceCELoss(to_onehot_y=True, softmax=True)(net(volume), labels)
    loss.backward()
    net.eval()
    with torch.no_grad():
        whole = sliding_window_inference(torch.randn(1, 1, 20, 20, 20), (16, 16, 16), 2, net, overlap=0.5)
    focal = FocalLoss(to_onehot_y=True)(whole[..., :16, :16, :16], labels)
    dice = DiceMetric()(whole[..., :16, :16, :16].argmax(1, keepdim=True), labels)
    return {"loss": loss, "whole": whole, "focal": focal, "dice": dice}
