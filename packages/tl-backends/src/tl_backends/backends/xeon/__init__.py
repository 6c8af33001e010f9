"""How a program runs on a server's cores: `run_cpu` starts it on those it is given."""
