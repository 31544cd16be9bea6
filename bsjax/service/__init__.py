"""The service that takes submissions over a network, and shows what became of them."""
