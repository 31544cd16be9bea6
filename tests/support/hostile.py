"""Plugins that attack those who run them, each by its name, and models that answer what nobody asked for."""

import textwrap

MODEL = """
from bsjax import ModelCommitment, model_registry
from bsjax.adapters import from_jax

def activations(images):
    return images.mean((1, 2))

def build():
    return ModelCommitment("hostile", from_jax(activations, "hostile"), region_layer_map={"V1": "output"})

model_registry["hostile"] = build
"""

# What is done instead of answering; each ends, or is ended.
ACTS = {
    "loops for ever": "while True: pass",
    "forks for ever": """
        import os
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """,
    "takes all memory": """
        held = []
        while True:
            held.append(b"x" * (32 << 20))
        """,
    "takes all memory without a process that shows it": """
        import os
        files = []
        while True:
            files.append(os.memfd_create("x"))
            os.write(files[-1], b"x" * (32 << 20))
        """,
    "fills the disk": """
        import os
        with open(os.path.expanduser("~/filled"), "wb") as file:
            while True:
                file.write(b"x" * (4 << 20))
        """,
    "makes a million files": """
        import os
        os.makedirs(os.path.expanduser("~/many"))
        for number in range(1_000_000):
            open(os.path.expanduser(f"~/many/{number}"), "w").close()
        """,
    "ends its process": "import os; os._exit(3)",
    "kills its process": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "sends a pickle": "import pickle; send_raw(pickle.dumps(print) * 100)",
}

_RAW = '''
import os

def send_raw(content):
    """To wherever answers go: the pipe has a number that print() does not know."""
    for number in range(3, 64):
        try:
            os.write(number, content)
        except OSError:
            pass
'''


def at_import(act: str) -> str:
    """A plugin that acts when it is imported."""
    return _RAW + textwrap.dedent(act) + MODEL


def answering(act: str) -> str:
    """A plugin whose model answers with what ``act`` makes of ``found``, the right answer."""
    return MODEL.replace(
        "def build():",
        f'''
class Changed:
    """The activations, changed on their way."""

    def __init__(self, activations):
        self._activations = activations
        self.identifier = activations.identifier

    def layers(self):
        return self._activations.layers()

    def __call__(self, stimuli, layers):
        import numpy as np
        found = self._activations(stimuli, layers)
{textwrap.indent(textwrap.dedent(act), " " * 8)}
        return found

def build():''',
    ).replace('from_jax(activations, "hostile")', 'Changed(from_jax(activations, "hostile"))')


ANSWERS = {
    "NaN": ("found = found.where(found > 1)", "NaN or infinite"),
    "too few rows": ("found = found[1:]", "rows"),
    "other dimensions": ("found = found.rename(presentation='stimulus')", "dimensions"),
    "a column of the stimuli on neuroids": (
        "found = found.assign_coords(object_name=('neuroid', np.zeros(found.sizes['neuroid'])))",
        "object_name",
    ),
    "terminal escapes in an error": ("raise ValueError('\\x1b[2J\\x1b]0;title\\x07' + '<script>' * 3)", "<script>"),
    "text of a megabyte in an error": ("raise ValueError('x' * 1_000_000)", "xxx"),
}

# What it finds goes to its log, a line each.
LOOKS_AROUND = """
import contextlib, glob, json, os, signal, socket, sys

def found(what, value):
    print("FOUND", what, repr(value)[:300], file=sys.stderr)

for path in json.loads(PATHS):
    with contextlib.suppress(Exception):
        found("file", open(path, "rb").read(50))
    with contextlib.suppress(Exception):
        if not path.startswith("/etc") and os.listdir(os.path.dirname(path)):
            found("files beside", path)
for name, value in os.environ.items():
    if "SECRET" in name or "SECRET" in value:
        found("variable", name)
with contextlib.suppress(Exception):
    found("network", socket.create_connection(("127.0.0.1", PORT), 2))
with contextlib.suppress(Exception):
    found("name", socket.gethostbyname("localhost.localdomain.example"))
for pid in [PID, *map(int, filter(str.isdigit, os.listdir("/proc")))]:
    if pid not in (1, 2, os.getpid()) and pid == PID:
        with contextlib.suppress(Exception):
            os.kill(pid, 0)
            found("process", pid)
for place in ("/", "/usr/lib", "/etc", os.path.dirname(__file__), sys.prefix, "/proc/sys/kernel"):
    with contextlib.suppress(Exception):
        open(os.path.join(place, "written"), "w")
        found("written", place)
with contextlib.suppress(Exception):
    os.symlink("/", os.path.expanduser("~/root"))
    for path in json.loads(PATHS):
        found("through a link", open(os.path.expanduser("~/root") + path, "rb").read(50))
"""


def looking_around(paths: str, port: int, pid: int) -> str:
    """A plugin that looks for what is not meant for it; what it is shown, it prints."""
    seen = """
print("SHOWN", [dict(row) for _, row in stimuli.iterrows()], stimuli.identifier, file=sys.stderr)
for path in stimuli.stimulus_paths.values():
    from PIL import Image
    image = Image.open(path)
    print("IMAGE", path, image.format, dict(image.info), os.stat(path).st_mtime, file=sys.stderr)
"""
    code = answering("import os, sys\n" + seen)
    return f"PATHS, PORT, PID = {paths!r}, {port}, {pid}\n{LOOKS_AROUND}{code}"


PRETENDS = {
    "another model": ("model.identifier = 'resnet50'", "calls itself 'resnet50'"),
    "to need no images": ("model.looks_at_images = False", "by the ids of stimuli"),
    "a file of this side as its layers": (
        "type(model).arguments = {'visual_degrees': 8.0, 'region_layer_map': '/etc/passwd'}",
        "makes no model",
    ),
}


def pretending(act: str) -> str:
    """A plugin whose model says of itself what is not so."""
    return MODEL.replace("    return ModelCommitment(", "    model = ModelCommitment(").replace(
        "\nmodel_registry[", f"    {act}\n    return model\n\nmodel_registry["
    )
