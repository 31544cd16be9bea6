"""Networks of timm, torchvision and Hugging Face by their names there."""
