"""Object solution times of macaque IT: Kar, Kubilius, Schmidt, Issa & DiCarlo (2019)."""
