"""The version of bsjax."""

__version__ = "0.1.0"
