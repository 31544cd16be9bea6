"""Folders that tests start processes in, or read files of."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
