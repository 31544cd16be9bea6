"""Tasks of models, each made of a model's features, which it is given a way to see."""
