"""A real Chromium without a network, whose pages are files."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    # No name leads anywhere but to this machine: whatever a page asks of another one fails, and is logged.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_DESKTOP = 1280, 900


class Browser(webdriver.Chrome):
    """Chromium, with what the tests of pages ask of it."""

    def show(self, page: Path, view: str = "") -> None:
        """Load a page, also where it is shown already; ``view`` stands behind the "#" of the address."""
        self.get("about:blank")
        self.get(page.as_uri() + (f"#{view}" if view else ""))

    def wait(self, script: str, seconds: float = 30) -> Any:
        """Wait until an expression of JavaScript is true; gives its value."""
        return WebDriverWait(self, seconds, 0.02).until(lambda _: self.execute_script(f"return {script}"))

    def resize(self, width: int, height: int = 900) -> None:
        """Give the page so many pixels, as a phone or a desktop has."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, colours: str) -> None:
        """Say that the system is "light" or "dark"."""
        features = [{"name": "prefers-color-scheme", "value": colours}]
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def messages(self) -> list[str]:
        """What was logged since it was last asked: errors, refused requests, violations of the page's policy."""
        return [entry["message"] for entry in self.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since it was last asked."""
        events = [json.loads(entry["message"])["message"] for entry in self.get_log("performance")]
        return [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]


@contextmanager
def browser(downloads: Path) -> Iterator[Browser]:
    """A browser that puts what pages hand out into a folder."""
    with tempfile.TemporaryDirectory(prefix="bsjax-browser-", ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = str(CHROMIUM)
        for argument in (*_ARGUMENTS, f"--user-data-dir={profile}", f"--window-size={_DESKTOP[0]},{_DESKTOP[1]}"):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        opened = Browser(options=options, service=Service(str(DRIVER)))
        try:
            yield opened
        finally:
            opened.quit()
