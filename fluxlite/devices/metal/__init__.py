"""Apple GPUs, through MLX."""
