"""The alias `torch` in processes that load modules by name before anything else, as fork servers do."""
