"""Small transforms: pairs, text, logging, branches and waiting."""
