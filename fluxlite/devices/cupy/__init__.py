"""NVIDIA and AMD GPUs, through CuPy."""
