"""Assemblies in netCDF-4 files, in Brain-Score's format."""

from bsjax.data.files.netcdf.reading import read_assembly
from bsjax.data.files.netcdf.writing import write_netcdf

__all__ = ["read_assembly", "write_netcdf"]
