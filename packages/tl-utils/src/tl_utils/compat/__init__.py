"""Names of PyTorch for which tl needs no code of its own. README.md describes the folder."""
