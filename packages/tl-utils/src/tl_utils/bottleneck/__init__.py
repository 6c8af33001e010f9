"""Where a program's time goes: `python -m tl.utils.bottleneck PROGRAM.py arguments …`."""
