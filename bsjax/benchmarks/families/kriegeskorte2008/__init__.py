"""Human IT and 92 images of objects: Kriegeskorte, Mur, Ruff, Kiani, Bodurka, Esteky, Tanaka & Bandettini (2008)."""
