"""Pretrained networks of timm, torchvision and Hugging Face by name."""
