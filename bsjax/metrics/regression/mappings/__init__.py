"""Mappings beyond those of Brain-Score: sparse, of low rank, with kernels, and on several feature spaces."""
