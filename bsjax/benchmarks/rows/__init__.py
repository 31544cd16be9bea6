"""Tables of benchmarks and of the publications that they cite."""
