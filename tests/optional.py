"""Packages that the test extra lists and some tests need: where one is missing, those are skipped, but never in CI."""

from __future__ import annotations

import importlib.util
import os

import pytest

# What modules and pages of ours need beyond the packages of everybody.
MODULES = {
    "poincare_memory.hierarchy.io.rdf": ("rdflib",),
    "poincare_memory.integrations.langchain_documents": ("langchain_core",),
    "poincare_memory.integrations.langchain_embeddings": ("langchain_core",),
    "poincare_memory.integrations.langchain": ("langchain_core",),
    "poincare_memory.integrations.langgraph_items": ("langgraph",),
    "poincare_memory.integrations.langgraph_conditions": ("langgraph",),
    "poincare_memory.integrations.langgraph": ("langgraph",),
    "poincare_memory.integrations.llama_index_block": ("llama_index.core",),
    "poincare_memory.integrations.llama_index_nodes": ("llama_index.core",),
    "poincare_memory.integrations.llama_index_queries": ("llama_index.core",),
    "poincare_memory.integrations.llama_index": ("llama_index.core",),
    "poincare_memory.integrations.mcp_schemas": ("mcp",),
    "poincare_memory.integrations.mcp_answers": ("mcp",),
    "poincare_memory.integrations.mcp_reading": ("mcp",),
    "poincare_memory.integrations.mcp_writing": ("mcp",),
    "poincare_memory.integrations.mcp_server": ("mcp",),
    "poincare_memory.integrations.mcp_http": ("mcp",),
    "poincare_memory.backends.silence": ("psycopg",),
    "poincare_memory.backends.connections": ("psycopg",),
    "poincare_memory.backends.postgres": ("psycopg",),
    "poincare_memory.backends.qdrant_points": ("qdrant_client",),
    "poincare_memory.backends.qdrant_conditions": ("qdrant_client",),
    "poincare_memory.backends.qdrant_shards": ("qdrant_client",),
    "poincare_memory.backends.edge": ("qdrant_client", "qdrant_edge"),
    "poincare_memory.backends.qdrant": ("qdrant_client",),
}
PAGES = {
    "docs/guides/frameworks.md": ("langchain_core", "langgraph", "llama_index.core"),
    "docs/guides/mcp.md": ("mcp",),
    "docs/guides/servers.md": ("qdrant_client",),
    "docs/guides/vector-databases.md": ("pyarrow",),
}


def needs(*packages: str) -> None:
    """Skip the module (or test) that says so, unless all packages are there."""
    missing = [name for name in packages if not is_there(name)]
    if not missing:
        return
    if os.environ.get("CI"):
        raise ModuleNotFoundError(f"{', '.join(missing)}: in the test extra, and not installed")
    pytest.skip(f'needs {", ".join(missing)}: pip install "poincare-memory[test]"', allow_module_level=True)


def is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False
