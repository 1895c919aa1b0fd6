"""What `make beam-tests` needs to run Beam's own tests on Headrace; tools/beam_tests.py says how.

``passing_on_beam.txt`` lists the tests that pass on Beam, ``tests.toml`` says which files they are from and
why some of them fail on Headrace, and ``missing_names.py`` lets files be imported that import missing names.
"""
