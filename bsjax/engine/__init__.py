"""Execution of kernels: compiled programs, precision, devices, row blocks, fallbacks, NumPy calls, memory limit."""
