"""Files for readers and writers: opening, file systems, compression, and what all formats share."""
