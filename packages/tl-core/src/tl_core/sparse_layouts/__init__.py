"""What `tl_core.sparse` and operators on sparse tensors are made of; loaded when the first one is used."""
