"""The programs are for mypy: some of their lines are wrong on purpose, so nobody imports them."""

collect_ignore = ["programs"]
