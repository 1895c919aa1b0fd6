"""What tests of pipelines need: scripted sources, assertions, and captures."""
