"""The checklist for submissions: what each plugin is tried for."""
