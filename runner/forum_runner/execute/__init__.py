"""Executes wave plans: a machine that decides, drivers that carry out what it decided, and the engines behind them."""
