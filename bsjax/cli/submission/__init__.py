"""Commands for submissions, accounts and private benchmarks."""
