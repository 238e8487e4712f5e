"""Experiments: what config/figures/*.toml declare is run, computed, drawn, checked and reported."""
