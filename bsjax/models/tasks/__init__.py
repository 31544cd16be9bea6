"""What models are asked to do: each task is made of a model's features, which it is given a way to see."""
