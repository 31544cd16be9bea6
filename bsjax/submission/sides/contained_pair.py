"""A pair of a model and a benchmark that are both contained: ``python -m bsjax.submission.sides.contained_pair``.

The job comes as JSON through the standard input; the score, or the error, goes to the standard output.
"""

import json

from bsjax.core.files import as_json
from bsjax.scoring.isolation.child import answered
from bsjax.submission.sides.model_side import pipes


def main() -> None:
    """Score the job."""
    questions, answers = pipes()
    answers.write(as_json(answered(json.load(questions))))
    answers.flush()


if __name__ == "__main__":
    main()
