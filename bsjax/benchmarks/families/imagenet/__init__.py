"""ImageNet, ImageNet-C and ObjectNet: the share of photographs that a model names right among 1000 classes."""
