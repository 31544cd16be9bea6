"""``python -m bsjax``: the command line."""

from bsjax.cli import main

if __name__ == "__main__":
    main()
