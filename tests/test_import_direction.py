"""The way of the data is one line: every module imports only from modules before it in ``ORDER``."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "poincare_memory"

# The one list. A package's own name stands for its __init__, which re-exports and so comes after its modules.
ORDER = """
_core
arguments
distinct
collector
threads
progress
geometry.copying
geometry.numerics
geometry.pairing
geometry.polar
geometry.maps
geometry.gyrovectors
geometry.poincare
geometry.lorentz
geometry
embed.protocol
embed.embedding
embed.hashing
embed.function
embed.sentence
embed.base
embed.learned
embed.specs
embed.identity
embed.onnx
embed.model2vec
embed.remote
embed.cached
embed.projection
embed
temporal.instants
temporal.parameters
temporal.evaluation
temporal.policies
temporal.compiled
temporal.specs
temporal
hierarchy.tree
hierarchy.dag
hierarchy.io.files
hierarchy.io.taxonomy
hierarchy.io.delimited
hierarchy.io.graphs
hierarchy.io.obo
hierarchy.io.rdf
hierarchy.io.wordnet
hierarchy.io
hierarchy.spreading
hierarchy.precise
hierarchy.safe_radius
hierarchy.sarkar
hierarchy.quality
hierarchy.evaluation
hierarchy.pairs
hierarchy.progress
hierarchy.fitting
hierarchy.rsgd
hierarchy.recipes
hierarchy.entailment
hierarchy.links
hierarchy
retrieval.cones
retrieval.scoring
retrieval.conditions
retrieval.key_column
retrieval.filters
retrieval.lexical
retrieval
store.metadata
store.records
store.stored_record
store.lock
store.forking
store.placement
store.errors
store.undo
store.changes
store.room
store.arrays
store.filtered_fields
store.filtered_keys
store.embeddings
store.tree_links
store.live_rows
store.columns
store.coded
index
store.state
store.weights
store.faiss_rows
store.shell_index
store.ranking
store.words
store.requests
store.candidates
store.diversity
store.search
store.batches
store.relations
store.twins
store.gathering
store.editing
store.upserting
store.learned
store.reporting
store.atomic
store.graph_file
store.archive
store.checked_records
store.filling
store.json_records
store.standins
store.digests
store.schema
store.sql.connections
store.sql.rows
store.sql.checks
store.sql.found
store.sql.writing
store.sql.live
store.sql.versions
store.sql
store.sqlite
store.portable
store.entries
store.tabular
store.outline
store.outlining
store.exchange
store.vectors
store.merging
store.past
store.persisting
store.waiting
store.read_errors
store.turns
store.connections
store.following
store.livefile
store.reembedding
store.live
store.watching
store.salvage
store.record_mending
store.vector_mending
store.version_mending
store.rebuilding
store.diagnosis
viz.layout
viz.snapshot
viz.sampling
viz.overlay
viz.export
viz.payload
viz.bundle
viz.html
viz.graphml
viz.mermaid
viz.colouring
viz.labelling
viz.mpl
viz
store.inspection
store.facade.base
store.facade.settings
store.facade.remembering
store.facade.lookup
store.facade.relatives
store.facade.searching
store.facade.showing
store.facade.keeping
store.facade.exchanging
store.facade
store.memory
store
integrations
integrations.given_vectors
integrations.langchain_documents
integrations.langchain_embeddings
integrations.langchain
integrations.langgraph_items
integrations.langgraph_conditions
integrations.langgraph
integrations.llama_index_block
integrations.llama_index_nodes
integrations.llama_index_queries
integrations.llama_index
integrations.mem0_shapes
integrations.mem0_filters
integrations.mem0
integrations.scope_filters
integrations.scope
integrations.mcp_schemas
integrations.mcp_answers
integrations.mcp_reading
integrations.mcp_writing
integrations.mcp_server
integrations.mcp_http
backends.errors
backends.conditions
backends.rows
backends.silence
backends.connections
backends.postgres_schema
backends.postgres_conditions
backends.postgres
backends.qdrant_points
backends.qdrant_conditions
backends.qdrant_shards
backends.edge
backends.qdrant
backends.given
backends.edits
backends.asked
backends.lookup
backends.remote
backends
demo
cli.terminal
cli.stores
cli.looking
cli.editing
cli.exchange
cli.checking
cli.watching
cli.serving
cli
cli.__main__
""".split()

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """``geometry.poincare`` for geometry/poincare.py, ``geometry`` for its __init__, "" for the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def rank(module: str) -> int:
    if module == "_core" or module.startswith("_core."):
        return 0
    if module not in ORDER:
        pytest.fail(f"{module} is not in ORDER ({__file__}): put it where the data passes it")
    return ORDER.index(module)


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def import_statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import that runs, wherever it stands; those for the type checker alone are left out."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        if isinstance(node, ast.If) and is_type_checking(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def imported_modules(path: Path) -> Iterator[str]:
    """Names, below the package, of what ``path`` imports from it."""
    known = {name_of(other) for other in MODULES}
    package = path.relative_to(PACKAGE).parent.parts
    for node in import_statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (name.partition(".")[2] for name in names if name.split(".")[0] == "poincare_memory")
            continue
        module = node.module or ""
        if node.level:
            base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [module])])
        elif module.split(".")[0] == "poincare_memory":
            base = module.partition(".")[2]
        else:
            continue
        for alias in node.names:
            full = f"{base}.{alias.name}".strip(".")
            if base == "" and alias.name == "__version__":
                continue
            yield full if full in known or base == "_core" else base


@pytest.mark.parametrize("path", MODULES, ids=[name_of(path) or "poincare_memory" for path in MODULES])
def test_imports_come_from_earlier_modules(path: Path) -> None:
    module = name_of(path)
    if module == "":
        assert list(imported_modules(path)) == [], "the package itself loads its names at first use"
        return
    late = [name for name in imported_modules(path) if rank(name) >= rank(module) and name != module]
    assert late == [], f"{module} imports from modules that come later in the way of the data: {late}"


def test_order_names_only_modules_that_exist() -> None:
    known = {name_of(path) for path in MODULES}
    assert [module for module in ORDER if module not in known] == []
    assert len(ORDER) == len(set(ORDER))


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    source = """
if TYPE_CHECKING:
    from .store import Memory
else:
    import a
def f():
    try:
        from b import c
    finally:
        import d
"""
    found = {ast.unparse(node) for node in import_statements(ast.parse(source))}
    assert found == {"import a", "from b import c", "import d"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_costs_no_more_than_numpy() -> None:
    extra = modules_after("import poincare_memory") - modules_after(
        "import numpy, importlib.util, importlib.machinery"
    )
    assert {name for name in extra if name.split(".")[0] != "poincare_memory"} <= {"__future__"}


def test_a_memory_needs_numpy_alone() -> None:
    loaded = modules_after("from poincare_memory import *; Memory().add('a')")
    loaded -= modules_after(
        "pass"
    )  # what the environment itself loads at start, such as an editable install's finder
    roots = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    roots = {root for root in roots if "cython" not in root}  # what Cython registers for its own modules
    assert roots == {"numpy", "poincare_memory"}
    assert not loaded & {"sqlite3", "webbrowser", "http", "asyncio"}, "load these where they are used"
