"""Files of assemblies, stimulus sets, images and tables."""
