"""Operations with platform-specific implementations: ranks, sorting, matrix products, decompositions."""
