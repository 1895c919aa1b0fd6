#!/bin/bash
# after move_modules.toml: places that stand for a file, in CONTRIBUTING.md, and words in SECURITY.md
set -e
sed -i -E \
  -e '/^\| a source \|/s#headrace/sdk/io/NAME\.py#headrace/sdk/io/matching/NAME.py#' \
  -e '/^\| a file format \|/s#headrace/sdk/io/NAME_(files|io)\.py#headrace/sdk/io/formats/NAME/NAME_\1.py#g' \
  -e '/^\| a keyed operator \|/s#headrace/runners/NAME_(keys|operators)\.py#headrace/runners/NAME/NAME_\1.py#g' \
  -e '/^\| a keyed operator \|/s#headrace/sdk/NAME_node\.py#headrace/sdk/pardo/NAME_node.py#' \
  -e '/^\| a metrics exporter \|/s#headrace/sdk/observing/NAME\.py#headrace/sdk/observing/exporters/NAME.py#' \
  -e 's#\[tfrecord\.py\]#[record_frames.py]#' CONTRIBUTING.md
sed -i 's#\[`plan_mermaid`\](#[`mermaid`](#' SECURITY.md
