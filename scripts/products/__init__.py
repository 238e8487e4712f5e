"""Compares durable commits of database products with logjam's schemes: scripts/products.py."""
