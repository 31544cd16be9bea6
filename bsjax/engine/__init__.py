"""Running of kernels: compiled programs, precision, devices, blocks of rows, calls of NumPy, the memory limit."""
