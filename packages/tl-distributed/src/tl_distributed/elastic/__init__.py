"""Jobs of several processes that are started, watched and started again."""
