"""Stimulus sets and assemblies: types, files, readers, and the registries of data.

Public names are imported on first use, so that listing data loads neither xarray nor pandas.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.core.files import cache_dir as cache_dir
    from bsjax.core.files import write_atomically as write_atomically
    from bsjax.data.catalogue.registry import data_registry as data_registry
    from bsjax.data.catalogue.registry import list_data as list_data
    from bsjax.data.catalogue.registry import load_dataset as load_dataset
    from bsjax.data.catalogue.registry import load_stimulus_set as load_stimulus_set
    from bsjax.data.catalogue.registry import stimulus_set_registry as stimulus_set_registry
    from bsjax.data.files.images import image_size as image_size
    from bsjax.data.files.images import load_image as load_image
    from bsjax.data.files.netcdf import read_assembly as read_assembly
    from bsjax.data.files.netcdf import write_netcdf as write_netcdf
    from bsjax.data.files.stimulus_files import read_stimulus_set as read_stimulus_set
    from bsjax.data.files.stimulus_files import stimulus_filenames as stimulus_filenames
    from bsjax.data.files.stimulus_files import write_stimulus_csv as write_stimulus_csv
    from bsjax.data.files.stimulus_files import write_stimulus_zip as write_stimulus_zip
    from bsjax.data.importers.importing import import_data as import_data
    from bsjax.data.publishing.checklist import check_assembly as check_assembly
    from bsjax.data.publishing.checklist import check_stimulus_set as check_stimulus_set
    from bsjax.data.publishing.local import load_packaged as load_packaged
    from bsjax.data.publishing.packaging import package_data_assembly as package_data_assembly
    from bsjax.data.publishing.packaging import package_data_assembly_locally as package_data_assembly_locally
    from bsjax.data.publishing.packaging import package_stimulus_set as package_stimulus_set
    from bsjax.data.publishing.packaging import package_stimulus_set_locally as package_stimulus_set_locally
    from bsjax.data.publishing.registration import registration_snippet as registration_snippet
    from bsjax.data.publishing.thumbnails import thumbnail_sheet as thumbnail_sheet
    from bsjax.data.publishing.upload import upload_assembly as upload_assembly
    from bsjax.data.publishing.upload import upload_stimulus_set as upload_stimulus_set
    from bsjax.data.remote.bucket_files import load_file as load_file
    from bsjax.data.remote.bucket_files import load_file_from_s3 as load_file_from_s3
    from bsjax.data.remote.bucket_files import load_folder_from_s3 as load_folder_from_s3
    from bsjax.data.remote.bucket_files import load_weight_file as load_weight_file
    from bsjax.data.remote.cache import fetch_file as fetch_file
    from bsjax.data.remote.cache import fetch_files as fetch_files
    from bsjax.data.remote.cache import showing as showing
    from bsjax.data.remote.s3 import load_assembly_from_s3 as load_assembly_from_s3
    from bsjax.data.remote.s3 import load_stimulus_set_from_s3 as load_stimulus_set_from_s3
    from bsjax.data.remote.storage import RemoteFile as RemoteFile
    from bsjax.data.types.assemblies import BehavioralAssembly as BehavioralAssembly
    from bsjax.data.types.assemblies import DataAssembly as DataAssembly
    from bsjax.data.types.assemblies import MetadataAssembly as MetadataAssembly
    from bsjax.data.types.assemblies import ModelFeaturesAssembly as ModelFeaturesAssembly
    from bsjax.data.types.assemblies import NeuroidAssembly as NeuroidAssembly
    from bsjax.data.types.assemblies import NeuronRecordingAssembly as NeuronRecordingAssembly
    from bsjax.data.types.assemblies import PropertiesAssembly as PropertiesAssembly
    from bsjax.data.types.assemblies import PropertyAssembly as PropertyAssembly
    from bsjax.data.types.assemblies import RDMAssembly as RDMAssembly
    from bsjax.data.types.assemblies import SpikeTimesAssembly as SpikeTimesAssembly
    from bsjax.data.types.assemblies import resolve_assembly_class as resolve_assembly_class
    from bsjax.data.types.grouping import walk_coords as walk_coords
    from bsjax.data.types.merging import attach_stimulus_set as attach_stimulus_set
    from bsjax.data.types.merging import merge_stimulus_set as merge_stimulus_set
    from bsjax.data.types.repetitions import average_repetition as average_repetition
    from bsjax.data.types.stimuli import StimulusSet as StimulusSet

__getattr__, __dir__, __all__ = on_first_use(globals())
