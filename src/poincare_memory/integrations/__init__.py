"""A `Memory` where other frameworks expect a store of theirs.

Each module needs the extra of its name, and is imported by itself: `integrations.langchain`, `langgraph`,
`llama_index`, `mcp_server`. `integrations.mem0` needs none.
"""
