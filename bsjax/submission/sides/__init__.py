"""The two sides of a submission: the model's, which runs it, and the trusted one, which asks; and what goes between."""
