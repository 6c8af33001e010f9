"""Pickles of the reference, made without its `save`."""

import base64
import os
import subprocess
import sys

# pickle.dumps({"w": tensor([[1, 2.5]]), "p": Parameter(tensor([3.0]))}, 2), by torch 2.13
RECORDED = (
    "gAJ9cQAoWAEAAAB3cQFjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3RlbnNvcl92MgpxAihjdG9yY2guc3RvcmFnZQpfbG9hZF9mcm9tX2J5dGVzCn"
    "EDY19jb2RlY3MKZW5jb2RlCnEEWBEBAADCgALCigpsw7zCnEbDuSBqwqhQGS7CgAJNw6kDLsKAAn1xAChYEAAAAHByb3RvY29sX3ZlcnNpb25x"
    "AU3DqQNYDQAAAGxpdHRsZV9lbmRpYW5xAsKIWAoAAAB0eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEGSwRYBAAAAGxvbm"
    "dxB0sEdXUuwoACKFgHAAAAc3RvcmFnZXEAY3RvcmNoCkZsb2F0U3RvcmFnZQpxAVgOAAAAOTQ0NTEyNzY0Njc3MjhxAlgDAAAAY3B1cQNLAk50"
    "cQRRLsKAAl1xAFgOAAAAOTQ0NTEyNzY0Njc3MjhxAWEuAgAAAAAAAAAAAMKAPwAAIEBxBVgGAAAAbGF0aW4xcQaGcQdScQiFcQlScQpLAEsBSw"
    "KGcQtLAksBhnEMiWNjb2xsZWN0aW9ucwpPcmRlcmVkRGljdApxDSlScQ50cQ9ScRBYAQAAAHBxEWN0b3JjaC5fdXRpbHMKX3JlYnVpbGRfcGFy"
    "YW1ldGVyCnESaAIoaANoBFgMAQAAwoACwooKbMO8wpxGw7kgasKoUBkuwoACTcOpAy7CgAJ9cQAoWBAAAABwcm90b2NvbF92ZXJzaW9ucQFNw6"
    "kDWA0AAABsaXR0bGVfZW5kaWFucQLCiFgKAAAAdHlwZV9zaXplc3EDfXEEKFgFAAAAc2hvcnRxBUsCWAMAAABpbnRxBksEWAQAAABsb25ncQdL"
    "BHV1LsKAAihYBwAAAHN0b3JhZ2VxAGN0b3JjaApGbG9hdFN0b3JhZ2UKcQFYDgAAADk0NDUxMjc2NDY3ODcycQJYAwAAAGNwdXEDSwFOdHEEUS"
    "7CgAJdcQBYDgAAADk0NDUxMjc2NDY3ODcycQFhLgEAAAAAAAAAAABAQHETaAaGcRRScRWFcRZScRdLAEsBhXEYSwGFcRmJaA0pUnEadHEbUnEc"
    "iGgNKVJxHYdxHlJxH3Uu"
)

PROGRAM = """
import base64, pickle, sys
import tl, tl.torch
tl.torch.install()
read = pickle.loads(base64.b64decode(sys.argv[1]))
assert read["w"].tolist() == [[1.0, 2.5]] and type(read["w"]) is tl.Tensor
assert isinstance(read["p"], tl.nn.Parameter) and read["p"].item() == 3.0 and read["p"].requires_grad
again = pickle.loads(pickle.dumps(read))
assert again["w"].equal(read["w"])
"""


def test_a_pickle_of_tensors_is_read():
    assert len(base64.b64decode(RECORDED)) > 500
    subprocess.run([sys.executable, "-c", PROGRAM, RECORDED], check=True, env=dict(os.environ))
