"""Laws that hold for random cases: of transforms, CombineFns, coders, sources, windows and panes."""
