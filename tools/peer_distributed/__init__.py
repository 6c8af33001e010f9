"""torch's own tests of groups, collectives and data-parallel training, run on this package."""
