"""The cluster: sessions, requirements, code for the workers, and what comes back to the driver."""
