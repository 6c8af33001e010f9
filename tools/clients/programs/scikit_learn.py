"""scikit-learn's array API mode: estimators and metrics that take tensors and give tensors."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import torch
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler


def main():
    torch.manual_seed(0)
    x = torch.randn(40, 5, dtype=torch.float64)
    y = (x[:, 0] > 0).to(torch.int64)
    target = x @ torch.arange(5.0, dtype=torch.float64)
    with config_context(array_api_dispatch=True):
        classes = LinearDiscriminantAnalysis().fit(x, y).predict(x)
        ridge = Ridge(solver="svd").fit(x, target)
        return {
            "reduced": abs(PCA(2, svd_solver="full").fit_transform(x)),
            "accuracy": float(accuracy_score(y, classes)),
            "ridge": ridge.coef_,
            "errors": [
                float(mean_squared_error(target, ridge.predict(x))),
                float(r2_score(target, ridge.predict(x))),
            ],
            "scaled": MinMaxScaler().fit_transform(x),
            "standard": StandardScaler().fit_transform(x) if hasattr(x, "mean") else x,
        }
