"""Durable commits of database products beside logjam's schemes: scripts/products.py."""
