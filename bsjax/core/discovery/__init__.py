"""Discovery of plugins (folders whose ``__init__.py`` registers something) without running them."""

from bsjax.core.discovery.brainscore import as_plugin as as_plugin
from bsjax.core.discovery.brainscore import brainscore_folders as brainscore_folders
from bsjax.core.discovery.brainscore import brainscore_plugins as brainscore_plugins
from bsjax.core.discovery.brainscore import is_in_brainscore_plugin as is_in_brainscore_plugin
from bsjax.core.discovery.declarations import REGISTRIES as REGISTRIES
from bsjax.core.discovery.declarations import forms_of_mapping as forms_of_mapping
from bsjax.core.discovery.entries import Entries as Entries
from bsjax.core.discovery.entries import Entry as Entry
from bsjax.core.discovery.entries import Factory as Factory
from bsjax.core.discovery.entries import calling_module as calling_module
from bsjax.core.discovery.failures import not_exiting as not_exiting
from bsjax.core.discovery.failures import one_line as one_line
from bsjax.core.discovery.folders import KINDS as KINDS
from bsjax.core.discovery.folders import VARIABLE as VARIABLE
from bsjax.core.discovery.folders import Plugin as Plugin
from bsjax.core.discovery.folders import find_plugins as find_plugins
from bsjax.core.discovery.folders import plugins_under as plugins_under
from bsjax.core.discovery.folders import search_path as search_path
from bsjax.core.discovery.folders import use_plugins as use_plugins
from bsjax.core.discovery.importing import import_plugin as import_plugin
