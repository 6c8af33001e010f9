"""Functions of several operators: statistics, distances, histograms, norms, low-rank decompositions, Sobol points."""
