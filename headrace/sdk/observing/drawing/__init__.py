"""The picture of the Dataflow paper: its marks, axes, texts and colours, and their layers in Vega-Altair."""
