"""The two sides of a submission, and their messages: the model's side runs its code, the trusted side scores it."""
