"""Publication of data: drafts, the checklist, packages, and their upload."""
