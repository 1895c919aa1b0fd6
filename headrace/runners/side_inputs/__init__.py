"""Side inputs at work: elements wait for the windows that they need, and functions receive the contents."""
