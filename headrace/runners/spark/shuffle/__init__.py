"""The shuffle: elements and arrivals as rows between stages, written, sent and put together again."""
