"""Mappings from model features to neural targets, and their cross-validation."""
