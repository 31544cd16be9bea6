"""What came of jobs, for people to read: a table in text with a legend, and a heat map for notebooks."""
