"""The cluster: sessions, requirements, code for the workers, and results on the driver."""
