"""RDMs of responses, of single trials and given as data; their models; their subjects."""
