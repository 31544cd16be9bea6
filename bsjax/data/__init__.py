"""Stimulus sets and assemblies: types, files, readers, and the registries of data.

Every public name is imported on first use, so that listing data loads neither xarray nor pandas.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.core.files import cache_dir, write_atomically
    from bsjax.data.catalogue.registry import (
        data_registry,
        list_data,
        load_dataset,
        load_stimulus_set,
        stimulus_set_registry,
    )
    from bsjax.data.files.images import image_size, load_image
    from bsjax.data.files.netcdf import read_assembly, write_netcdf
    from bsjax.data.files.stimulus_files import (
        read_stimulus_set,
        stimulus_filenames,
        write_stimulus_csv,
        write_stimulus_zip,
    )
    from bsjax.data.importers.importing import import_data
    from bsjax.data.publishing.checklist import check_assembly, check_stimulus_set
    from bsjax.data.publishing.packaging import (
        package_data_assembly,
        package_data_assembly_locally,
        package_stimulus_set,
        package_stimulus_set_locally,
    )
    from bsjax.data.publishing.registration import registration_snippet
    from bsjax.data.publishing.thumbnails import thumbnail_sheet
    from bsjax.data.publishing.upload import upload_assembly, upload_stimulus_set
    from bsjax.data.remote.bucket_files import load_file, load_file_from_s3, load_folder_from_s3, load_weight_file
    from bsjax.data.remote.cache import fetch_file, fetch_files, showing
    from bsjax.data.remote.s3 import load_assembly_from_s3, load_stimulus_set_from_s3
    from bsjax.data.remote.storage import RemoteFile
    from bsjax.data.types.assemblies import (
        BehavioralAssembly,
        DataAssembly,
        MetadataAssembly,
        ModelFeaturesAssembly,
        NeuroidAssembly,
        NeuronRecordingAssembly,
        PropertiesAssembly,
        PropertyAssembly,
        SpikeTimesAssembly,
        resolve_assembly_class,
    )
    from bsjax.data.types.grouping import walk_coords
    from bsjax.data.types.merging import attach_stimulus_set, merge_stimulus_set
    from bsjax.data.types.repetitions import average_repetition
    from bsjax.data.types.stimuli import StimulusSet

__all__ = [
    "BehavioralAssembly",
    "DataAssembly",
    "MetadataAssembly",
    "ModelFeaturesAssembly",
    "NeuroidAssembly",
    "NeuronRecordingAssembly",
    "PropertiesAssembly",
    "PropertyAssembly",
    "RemoteFile",
    "SpikeTimesAssembly",
    "StimulusSet",
    "attach_stimulus_set",
    "average_repetition",
    "cache_dir",
    "check_assembly",
    "check_stimulus_set",
    "data_registry",
    "fetch_file",
    "fetch_files",
    "image_size",
    "import_data",
    "list_data",
    "load_assembly_from_s3",
    "load_dataset",
    "load_file",
    "load_file_from_s3",
    "load_folder_from_s3",
    "load_image",
    "load_stimulus_set",
    "load_stimulus_set_from_s3",
    "load_weight_file",
    "merge_stimulus_set",
    "package_data_assembly",
    "package_data_assembly_locally",
    "package_stimulus_set",
    "package_stimulus_set_locally",
    "read_assembly",
    "read_stimulus_set",
    "registration_snippet",
    "resolve_assembly_class",
    "showing",
    "stimulus_filenames",
    "stimulus_set_registry",
    "thumbnail_sheet",
    "upload_assembly",
    "upload_stimulus_set",
    "walk_coords",
    "write_atomically",
    "write_netcdf",
    "write_stimulus_csv",
    "write_stimulus_zip",
]

# the module that each name comes from; the imports above say the same to type checkers
_SOURCES = {
    "bsjax.data.types.assemblies": (
        "BehavioralAssembly",
        "DataAssembly",
        "MetadataAssembly",
        "ModelFeaturesAssembly",
        "NeuroidAssembly",
        "NeuronRecordingAssembly",
        "PropertiesAssembly",
        "PropertyAssembly",
        "SpikeTimesAssembly",
        "resolve_assembly_class",
    ),
    "bsjax.data.remote.bucket_files": (
        "load_file",
        "load_file_from_s3",
        "load_folder_from_s3",
        "load_weight_file",
    ),
    "bsjax.data.remote.cache": (
        "fetch_file",
        "fetch_files",
        "showing",
    ),
    "bsjax.data.catalogue.registry": (
        "data_registry",
        "list_data",
        "load_dataset",
        "load_stimulus_set",
        "stimulus_set_registry",
    ),
    "bsjax.core.files": (
        "cache_dir",
        "write_atomically",
    ),
    "bsjax.data.files.images": (
        "image_size",
        "load_image",
    ),
    "bsjax.data.importers.importing": ("import_data",),
    "bsjax.data.types.grouping": ("walk_coords",),
    "bsjax.data.types.merging": (
        "attach_stimulus_set",
        "merge_stimulus_set",
    ),
    "bsjax.data.files.netcdf": (
        "read_assembly",
        "write_netcdf",
    ),
    "bsjax.data.publishing.packaging": (
        "package_data_assembly",
        "package_data_assembly_locally",
        "package_stimulus_set",
        "package_stimulus_set_locally",
    ),
    "bsjax.data.publishing.registration": ("registration_snippet",),
    "bsjax.data.types.repetitions": ("average_repetition",),
    "bsjax.data.remote.s3": (
        "load_assembly_from_s3",
        "load_stimulus_set_from_s3",
    ),
    "bsjax.data.types.stimuli": ("StimulusSet",),
    "bsjax.data.files.stimulus_files": (
        "read_stimulus_set",
        "stimulus_filenames",
        "write_stimulus_csv",
        "write_stimulus_zip",
    ),
    "bsjax.data.remote.storage": ("RemoteFile",),
    "bsjax.data.publishing.checklist": (
        "check_assembly",
        "check_stimulus_set",
    ),
    "bsjax.data.publishing.thumbnails": ("thumbnail_sheet",),
    "bsjax.data.publishing.upload": (
        "upload_assembly",
        "upload_stimulus_set",
    ),
}
__getattr__, __dir__ = on_first_use(globals(), _SOURCES)
