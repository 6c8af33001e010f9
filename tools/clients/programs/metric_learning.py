"""pytorch-metric-learning: losses, miners and distances over embeddings."""

import torch
from pytorch_metric_learning import distances, losses, miners


def main():
    torch.manual_seed(0)
    vectors = torch.randn(16, 8, requires_grad=True)
    labels = torch.arange(16) % 4
    pairs = miners.MultiSimilarityMiner()(vectors, labels)
    values = {
        "triplet": losses.TripletMarginLoss()(vectors, labels, pairs),
        "contrastive": losses.ContrastiveLoss(distance=distances.CosineSimilarity())(vectors, labels),
        "ntxent": losses.NTXentLoss()(vectors, labels),
        "arcface": losses.ArcFaceLoss(4, 8)(vectors, labels),
    }
    sum(values.values()).backward()
    return {"values": values, "gradient": vectors.grad}
