"""The shuffle: elements, arrivals and control rows as rows between stages; writers and readers."""
