"""The windows of a key: which elements are late, and how windows merge and split."""
