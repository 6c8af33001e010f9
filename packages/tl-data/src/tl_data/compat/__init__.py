"""Retired and private names of `torch.utils.data`. README.md describes the folder."""
