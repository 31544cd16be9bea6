"""ImageNet, ImageNet-C and ObjectNet: a model's accuracy in naming photographs among 1000 classes."""
