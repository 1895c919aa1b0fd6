"""Sources at work: bounded ones as bundles, and all of them in rounds."""
