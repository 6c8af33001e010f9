"""lightly: self-supervised losses and heads: SimCLR, BYOL, Barlow Twins, DINO."""

import torch
from lightly.loss import BarlowTwinsLoss, DINOLoss, NegativeCosineSimilarity, NTXentLoss, VICRegLoss
from lightly.models.modules import BYOLProjectionHead, SimCLRProjectionHead


def main():
    torch.manual_seed(0)
    a, b = torch.randn(8, 16, requires_grad=True), torch.randn(8, 16)
    heads = SimCLRProjectionHead(16, 16, 8), BYOLProjectionHead(16, 16, 8)
    one, two = heads[0](a), heads[0](b)
    values = {
        "simclr": NTXentLoss()(one, two),
        "byol": NegativeCosineSimilarity()(heads[1](a), two.detach()),
        "barlow": BarlowTwinsLoss()(one, two),
        "vicreg": VICRegLoss()(one, two),
        "dino": DINOLoss(output_dim=8)([two.detach()], [one, two], epoch=0),
    }
    sum(values.values()).backward()
    return {"values": values, "gradient": a.grad}
