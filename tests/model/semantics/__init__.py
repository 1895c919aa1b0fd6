"""The model, sentence by sentence: what every runner has to do."""
