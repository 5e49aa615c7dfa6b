"""What flags of Megatron-LM say of a plan, wherever they stand: in a YAML file or on a command line."""
