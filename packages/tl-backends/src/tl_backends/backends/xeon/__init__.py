"""Programs on the cores of a server: `run_cpu` starts a program on selected cores."""
