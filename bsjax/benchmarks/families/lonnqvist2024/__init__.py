"""Curves that cross: the data of Lonnqvist2024, of people in the laboratory and online."""
