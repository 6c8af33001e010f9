"""Code that needs no tensor operators: errors, names of modules, registries of packages, recordings, element types."""
