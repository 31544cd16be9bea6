"""Tasks of models, which turn features into behaviour."""
