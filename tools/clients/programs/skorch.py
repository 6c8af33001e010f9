"""skorch: a net as an estimator of scikit-learn, in a pipeline, a cross-validation and a grid search."""

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from torch import nn


class Net(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, 2), nn.Softmax(-1))

    def forward(self, x):
        return self.layers(x)


def main():
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    y = (x.sum(1) > 0).astype(np.int64)
    net = NeuralNetClassifier(Net, max_epochs=10, lr=0.2, verbose=0, iterator_train__shuffle=False)
    model = make_pipeline(StandardScaler(), net).fit(x, y)
    probabilities = model.predict_proba(x)
    scores = cross_val_score(net, x, y, cv=3)
    found = GridSearchCV(net, {"module__width": [4, 12]}, cv=2, refit=False).fit(x, y)
    return {
        "losses": net.history[:, "train_loss"],
        "probabilities": probabilities,
        "scores": scores,
        "grid": found.cv_results_["mean_test_score"],
    }
