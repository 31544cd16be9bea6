"""Core object recognition: Rajalingham, Issa, Bashivan, Kar, Schmidt & DiCarlo (2018)."""
