#!/usr/bin/env python3
"""Makes the pictures of the console in docs/images, from a simulated fleet with planted findings.

    ./dev pictures             writes docs/images/*.png
    ./dev pictures --all DIR   writes every page at three widths, light and dark, into DIR
"""

import argparse
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import browser  # noqa: E402
from console_fleet import ConsoleFleet, pages  # noqa: E402

# Pictures in the documents, with their heights.
PICTURES = {"fleet": 560, "campaign": 860, "series": 1330, "roofline": 980, "links": 1080}
WIDTH = 1200
WIDTHS = (360, 1024, 1920)


def shoot(page, url, path, full):
    page.open(url)
    page.settle()
    page.picture(path, full=full)
    print(path, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", metavar="DIR")
    options = parser.parse_args()
    browser.require_browser()
    with ConsoleFleet() as fleet, browser.Browser(WIDTH) as page:
        fleet.start()
        fleet.plant()
        addresses = pages(fleet)
        if options.all is None:
            folder = os.path.join(ROOT, "docs", "images")
            os.makedirs(folder, exist_ok=True)
            for name, height in PICTURES.items():
                page.resize(WIDTH, height)
                shoot(page, addresses[name], os.path.join(folder, f"{name}.png"), full=False)
            return
        os.makedirs(options.all, exist_ok=True)
        for dark in (False, True):
            page.set_scheme(dark)
            for width in WIDTHS:
                page.resize(width)
                for name, address in addresses.items():
                    scheme = "dark" if dark else "light"
                    shoot(page, address, os.path.join(options.all, f"{name}-{width}-{scheme}.png"),
                          full=True)


if __name__ == "__main__":
    main()
