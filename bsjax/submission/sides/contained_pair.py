"""Scoring of a contained model on a contained benchmark: ``python -m bsjax.submission.sides.contained_pair``.

The job is read as JSON from the standard input. The score or the error is written to the standard output.
"""

import json

from bsjax.core.files import as_json
from bsjax.scoring.isolation.child import answered
from bsjax.submission.sides.model_side import pipes


def main() -> None:
    """Score the pair and write the answer."""
    questions, answers = pipes()
    answers.write(as_json(answered(json.load(questions))))
    answers.flush()


if __name__ == "__main__":
    main()
