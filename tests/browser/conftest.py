"""Headless Chromium for the inspector's tests: Debian's ``chromium`` and ``chromium-driver``, driven by Selenium."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from poincare_memory import HalfLife
from poincare_memory.demo import build_demo_memory

PATIENCE = 5.0  # seconds
NOW = datetime(2026, 3, 4, 5, 6, tzinfo=timezone.utc)
MISSING = (
    "NO BROWSER: the inspector is NOT tested in a real page. "
    "Install chromium and its driver (Debian: apt-get install chromium chromium-driver)."
)


def browser_paths() -> tuple[str, str] | None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Without a browser, say so where nobody can miss it."""
    if browser_paths() is None:
        terminalreporter.section("inspector")
        terminalreporter.write_line(MISSING, red=True, bold=True)


class Page:
    """One open inspector."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, fragment: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + fragment)
        self.settle()

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def settle(self) -> None:
        """Wait until two frames were drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def find(self, selector: str) -> Any:
        """The first one, which a busy browser may take a moment to make."""
        deadline = time.monotonic() + PATIENCE
        while not (found := self.all(selector)) and time.monotonic() < deadline:
            self.settle()
        return found[0] if found else self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        return [
            text.strip()
            for text in self.run(
                "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector
            )
        ]

    def click(self, selector: str) -> None:
        self.find(selector).click()
        self.settle()

    def type(self, selector: str, text: str) -> None:
        self.run("arguments[0].value = ''", self.find(selector))
        self.find(selector).send_keys(text)
        self.settle()

    def slide(self, part: float) -> None:
        self.run(
            "const s = document.getElementById('time'); s.value = String(Math.round(arguments[0] * Number(s.max)));"
            "s.dispatchEvent(new Event('input'))",
            part,
        )
        self.settle()

    def console(self) -> list[str]:
        """What went wrong in the page, and violations of its policy."""
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        return [
            message for message in messages if "willReadFrequently" not in message
        ]  # `pixels` reads often

    def resize(self, width: int, height: int) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def prefer(self, **features: str) -> None:
        """Media features, with ``_`` for ``-``."""
        values = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": values})

    def pixels(self, x: float, y: float, reach: int = 1) -> list[list[int]]:
        """Colours (r, g, b) of the disk around a place in CSS pixels."""
        side = 2 * reach + 1
        data = self.run(
            "const c = document.getElementById('ground'), k = c.width / c.clientWidth;"
            "const [x, y, r] = arguments;"
            "return [...c.getContext('2d').getImageData(x * k - r, y * k - r, 2 * r + 1, 2 * r + 1).data]",
            x,
            y,
            reach,
        )
        return [data[4 * i : 4 * i + 3] for i in range(side * side)]

    def stage(self) -> tuple[float, float, float]:
        """Centre and radius of the disk when it is neither moved nor magnified, CSS pixels in the canvas."""
        width, height = self.run(
            "const s = document.getElementById('overlay'); return [s.clientWidth, s.clientHeight]"
        )
        return width / 2, height / 2, min(width, height) / 2 - 14

    def place(self, node: dict[str, Any]) -> tuple[float, float]:
        """Where a memory is drawn before anything is moved: one tree is seen from its root."""
        data = self.data()
        roots = [other for other in data["nodes"] if other["parent"] is None]
        home = complex(roots[0]["x"], roots[0]["y"])
        if data["config"]["layout"] != "structural" or len(roots) != 1:
            home = 0j
        drawn = complex(node["x"], node["y"])
        seen = (drawn - home) / (1 - home.conjugate() * drawn)
        x, y, radius = self.stage()
        return x + seen.real * radius, y - seen.imag * radius

    def corner(self) -> tuple[float, float]:
        """Where the canvas begins in the window."""
        left, top = self.run(
            "const b = document.getElementById('overlay').getBoundingClientRect(); return [b.left, b.top]"
        )
        return left, top

    def mouse(self, *steps: tuple[str, float, float]) -> None:
        """Mouse events at places of the canvas: ``("mouseMoved" | "mousePressed" | "mouseReleased", x, y)``."""
        left, top = self.corner()
        for kind, x, y in steps:
            pressed = kind != "mouseReleased" and any(step[0] == "mousePressed" for step in steps)
            self.driver.execute_cdp_cmd(
                "Input.dispatchMouseEvent",
                {
                    "type": kind,
                    "x": left + x,
                    "y": top + y,
                    "button": "left" if pressed or kind == "mouseReleased" else "none",
                    "buttons": 1 if pressed else 0,
                    "clickCount": 0 if kind == "mouseMoved" else 1,
                },
            )
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a select element."""
        self.run(
            "const [s, value] = arguments; s.value = value; s.dispatchEvent(new Event('change'))",
            self.find(selector),
            value,
        )
        self.settle()

    def node(self, id: str) -> dict[str, Any]:
        return next(node for node in self.data()["nodes"] if node["id"] == id)

    @staticmethod
    def is_coloured(pixels: list[list[int]]) -> bool:
        return any(max(pixel) - min(pixel) > 20 for pixel in pixels)

    def data(self) -> dict[str, Any]:
        return json.loads(self.run("return document.getElementById('data').textContent"))


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    paths = browser_paths()
    if paths is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)  # and pytest_terminal_summary repeats it at the end of the run
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = paths[0]
    with tempfile.TemporaryDirectory(prefix="inspector-profile-") as profile:
        for argument in (
            "--headless=new",
            "--no-sandbox",  # tests may run as root, in a container
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(paths[1]))
        browser.set_script_timeout(60)
        yield browser
        browser.quit()


@pytest.fixture
def page(driver: Any) -> Iterator[Page]:
    """A page of 1280 x 900 in light colours. Anything on its console fails the test."""
    page = Page(driver)
    page.resize(1280, 900)
    page.prefer(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    page.console()
    yield page
    assert page.console() == []


@pytest.fixture
def show(page: Page, tmp_path: Path) -> Callable[..., Page]:
    """Write a memory's inspector and open it."""

    def show(memory: Any, fragment: str = "", **options: Any) -> Page:
        path = tmp_path / "memory.html"
        memory.inspect(path, **options)
        page.open(path, fragment)
        return page

    return show


@pytest.fixture
def demo(show: Callable[..., Page]) -> Page:
    return show(build_demo_memory(clock=lambda: NOW, decay=HalfLife(hours=720)), title="demo")


@pytest.fixture
def asking(page: Page, tmp_path: Path) -> Callable[[str], Callable[..., Any]]:
    """Runs a script among the inspector's own modules; what it leaves in ``window.ask`` can be called."""
    from importlib.resources import files

    from poincare_memory.viz.bundle import bundle

    folder = files("poincare_memory.viz") / "inspector"
    sources = {
        entry.name.removesuffix(".js"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".js")
    }

    def asking(source: str) -> Callable[..., Any]:
        script = bundle(sources | {"ask": source}, "ask")
        (tmp_path / "ask.html").write_text(
            f'<meta charset="utf-8"><link rel="icon" href="data:,"><script type="module">{script}</script>',
            encoding="utf-8",
        )
        page.open(tmp_path / "ask.html")
        return lambda *arguments: page.run("return window.ask(...arguments)", *arguments)

    return asking


@pytest.fixture
def ask(asking: Callable[[str], Callable[..., Any]]) -> Callable[..., Any]:
    """Calls an exported function of a module: ``ask("cone", "halfAperture", 1.0, 1.0, 0.1)``."""
    opened: dict[tuple[str, str], Callable[..., Any]] = {}

    def ask(module: str, function: str, *arguments: object) -> Any:
        if (module, function) not in opened:
            opened.clear()  # one page at a time
            opened[module, function] = asking(
                f'import {{ {function} }} from "./{module}.js";\nwindow.ask = {function};\n'
            )
        return opened[module, function](*arguments)

    return ask
