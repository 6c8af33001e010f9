"""The distribution of a program's time: `python -m tl.utils.bottleneck PROGRAM.py arguments …`."""
