from bsjax import load_dataset, load_metric
from bsjax.benchmarks import PropertiesBenchmark
from bsjax.labelled.tuning.distributions import NeuronalPropertyCeiling
from bsjax.labelled.tuning.experiments import cavanaugh2002_properties

BIBTEX = """@article{author2024, title={Your Paper Title}, author={Author, A.}, year={2024}}"""


def MarquesCavanaugh2002V1SurroundSuppressionIndex():
    assembly = load_dataset('Cavanaugh2002a')
    similarity_metric = load_metric('ks_similarity', property_name='surround_suppression_index')

    return PropertiesBenchmark(
        identifier='Marques2020_Cavanaugh2002-surround_suppression_index',
        assembly=assembly,
        neuronal_property=cavanaugh2002_properties,
        similarity_metric=similarity_metric,
        timebins=[(70, 170)],
        ceiling_func=NeuronalPropertyCeiling(similarity_metric),
        parent='V1-surround_modulation',
        bibtex=BIBTEX
    )
