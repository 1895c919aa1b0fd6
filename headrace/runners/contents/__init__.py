"""What groupings collect and keep: their paths, contents of panes, and files with large side inputs."""
