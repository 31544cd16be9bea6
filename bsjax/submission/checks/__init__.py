"""The checklist for submitted plugins."""
