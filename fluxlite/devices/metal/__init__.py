"""Apple's GPUs, through MLX."""
