"""Metrics of labelled choices: accuracy, agreement, confusions, signatures, thresholds."""
