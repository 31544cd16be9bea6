"""XLA's flags in tests: programs that are compiled fast, as each test compiles many and runs them a few times."""

from importlib.metadata import version

from packaging.version import Version

# Each test process has one core, on which programs that are compiled in parts take longer.
FLAGS = ["--xla_backend_optimization_level=0", "--xla_cpu_parallel_codegen_split_count=1"]
# XLA's newer way to emit what it has fused takes three times as long to compile as its older one, which later releases
# do not have: a flag that XLA does not know ends the process.
if Version(version("jaxlib")) < Version("0.11"):
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")
