"""Assemblies in netCDF-4 files, in Brain-Score's format."""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.data.files.netcdf.reading import read_assembly as read_assembly
    from bsjax.data.files.netcdf.writing import write_netcdf as write_netcdf

__getattr__, __dir__, __all__ = on_first_use(globals())
