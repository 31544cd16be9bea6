"""Objects in S3: download, cache, and the data made from them; and files from the web."""
