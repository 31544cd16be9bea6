"""Reading and writing files of assemblies, stimulus sets, images and tables."""
