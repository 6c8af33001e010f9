"""torchmetrics: classification, regression, retrieval, text and picture metrics over batches, in a collection."""

import torch
import torchmetrics.functional as F
from torchmetrics import Accuracy, ConfusionMatrix, F1Score, MeanSquaredError, MetricCollection
from torchmetrics.classification import BinaryAUROC, BinaryAveragePrecision, MulticlassCalibrationError
from torchmetrics.image import StructuralSimilarityIndexMeasure
from torchmetrics.text import WordErrorRate


def main():
    torch.manual_seed(0)
    common = {"task": "multiclass", "num_classes": 4}
    metrics = MetricCollection(
        [Accuracy(**common), F1Score(average="macro", **common), ConfusionMatrix(**common)]
    )
    for _ in range(3):
        metrics.update(torch.randn(20, 4), torch.randint(0, 4, (20,)))
    scores, labels = torch.rand(50), torch.randint(0, 2, (50,))
    error = MeanSquaredError()
    error(torch.arange(5.0), torch.ones(5))
    pictures = torch.rand(2, 1, 24, 24)
    words = WordErrorRate()(["this is a tensor"], ["this was the tensor"])
    return {
        "collection": metrics.compute(),
        "auroc": BinaryAUROC()(scores, labels),
        "precision": BinaryAveragePrecision()(scores, labels),
        "calibration": MulticlassCalibrationError(4)(
            torch.randn(30, 4).softmax(1), torch.randint(0, 4, (30,))
        ),
        "ssim": StructuralSimilarityIndexMeasure(data_range=1.0)(pictures, pictures * 0.9),
        "words": words,
        "error": error.compute(),
        "pearson": F.pearson_corrcoef(scores, scores.square() + 0.1 * torch.rand(50)),
        "cosine": F.pairwise_cosine_similarity(torch.randn(4, 3), torch.randn(5, 3)),
    }
