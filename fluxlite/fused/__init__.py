"""Several elementwise calls as one launch."""
