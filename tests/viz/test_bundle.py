"""The bundler: modules in the order of their imports, each in a scope of its own."""

from __future__ import annotations

import pytest

from poincare_memory.viz.bundle import bundle


def test_dependencies_come_first_and_once() -> None:
    sources = {
        "main": 'import { b } from "./b.js";\nimport { c } from "./c.js";\nb(c);\n',
        "b": 'import { c } from "./c.js";\nexport function b() {\n  return c;\n}\n',
        "c": "export const c = 3;\n",
        "unused": "export const never = 1;\n",
    }
    script = bundle(sources, "main")
    places = [script.index(f"const module_{name} =") for name in "cb"] + [script.index("const module_main =")]
    assert places == sorted(places)
    assert script.count("const module_c =") == 1
    assert "never" not in script
    assert "const { c } = module_c;" in script
    assert "import " not in script
    assert "export " not in script


def test_every_kind_of_export_is_returned() -> None:
    source = (
        "export const a = 1;\nexport class B {}\nexport function c() {}\n"
        "export async function d() {}\nexport function* e() {}\n"
    )
    assert "return { a, B, c, d, e };" in bundle({"all": source}, "all")


def test_imports_over_several_lines() -> None:
    sources = {
        "main": 'import {\n  a,\n  b,\n} from "./x.js";\n',
        "x": "export const a = 1;\nexport const b = 2;\n",
    }
    assert "const { a, b } = module_x;" in bundle(sources, "main")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (
            {"a": 'import { b } from "./b.js";\n', "b": 'import { a } from "./a.js";\nexport const b = 1;\n'},
            "a -> b -> a",
        ),
        ({"a": 'import { b } from "./b.js";\n'}, "no b.js"),
        (
            {"a": 'import { x } from "./b.js";\n', "b": "export const y = 1;\n"},
            "imports x, which b.js does not export",
        ),
        ({"a": "export default 3;\n"}, "export default 3"),
        ({"a": 'import * as b from "./b.js";\n', "b": ""}, "import \\* as b"),
        ({"a": "export let x = 1;\n"}, "export let x"),
    ],
)
def test_what_it_does_not_understand_is_refused(sources, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bundle(sources, "a")
