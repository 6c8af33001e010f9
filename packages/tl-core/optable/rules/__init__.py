"""Rules of transforms beside their rows: a file for each family of rows, as in optable/."""
