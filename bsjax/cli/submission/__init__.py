"""Commands around submissions: how far they are, who may hand them in, and which benchmarks are private."""
