"""NVIDIA's and AMD's GPUs, through CuPy."""
