"""What users test with: strategies, laws, the check of a runner, the plugin."""
