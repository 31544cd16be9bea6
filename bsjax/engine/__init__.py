"""Running of kernels: programs, precision, devices, blocks of rows, fallbacks, calls of NumPy, the memory limit."""
