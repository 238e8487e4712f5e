"""Runs, computes, draws, checks and reports the experiments that config/figures/*.toml declare."""
