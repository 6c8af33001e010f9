"""Process groups, their ranks and members, and meshes of devices."""
