"""A streaming program of apache_beam that is killed and resumed (tests.faults.test_beam_kills)."""
