"""Plugins: folders whose ``__init__.py`` registers something. Found without running them, imported when asked for."""

from bsjax.discovery.declarations import REGISTRIES as REGISTRIES
from bsjax.discovery.entries import Entries as Entries
from bsjax.discovery.entries import Entry as Entry
from bsjax.discovery.entries import Factory as Factory
from bsjax.discovery.failures import not_exiting as not_exiting
from bsjax.discovery.failures import one_line as one_line
from bsjax.discovery.folders import VARIABLE as VARIABLE
from bsjax.discovery.folders import Plugin as Plugin
from bsjax.discovery.folders import find_plugins as find_plugins
from bsjax.discovery.folders import plugins_under as plugins_under
from bsjax.discovery.folders import search_path as search_path
from bsjax.discovery.folders import use_plugins as use_plugins
