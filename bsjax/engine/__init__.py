"""How a kernel is run: compiled programs, precision, devices, blocks of rows, calls of NumPy, and the memory limit."""
