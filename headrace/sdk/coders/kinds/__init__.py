"""The coders that programs name: of values, of classes with fields, and of any value."""
