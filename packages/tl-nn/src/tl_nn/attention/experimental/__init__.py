"""Where attention functions stand that may still change; there are none at present."""
