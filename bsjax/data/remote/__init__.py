"""Objects in S3: their download, their cache, and the data that are made of them; and files of the web."""
