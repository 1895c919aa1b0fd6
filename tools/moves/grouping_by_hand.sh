#!/bin/bash
# after move_grouping.toml: what names headrace/triggers as the home of the engine
set -e
sed -i 's|only_mutate = \["headrace/windowing/\*", "headrace/triggers/\*"\]|only_mutate = ["headrace/windowing/*", "headrace/triggers/*", "headrace/grouping/*"]|; s|^    "headrace/triggers",$|    "headrace/triggers",\n    "headrace/grouping",|' pyproject.toml
sed -i "s|^\(\t.*coverage report --include='headrace/\)triggers\(/\*' --fail-under=95\)$|\1triggers\2\n\1grouping\2|; s/windowing and triggers need at least 95 % each/windowing, triggers and grouping need at least 95 % each/; s/run mutation tests of windowing and triggers/run mutation tests of windowing, triggers and grouping/" Makefile
