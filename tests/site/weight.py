"""Print what pages of the built site weigh, gzipped, how many requests they make, and
when they paint first on a processor that is four times slower: python
tests/site/weight.py [page ...]
"""

import sys
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from statistics import median

from browsing import SITE, Handler, find_chromium, weigh
from playwright.sync_api import sync_playwright

PAGES = ["index", "37_densities", "api/rvamp_nb.p1", "select_features_in_a_csv", "api"]
SLOWER, TIMES = 4, 3


def main(names):
    """Each page is opened so many times by a browser that has seen nothing; the
    middle time is printed.
    """
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(SITE))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox"]
        )
        for name in names:
            found = []
            for _ in range(TIMES):
                with browser.new_context() as context:
                    page = f"{home}{name}.html"
                    found.append(weigh(context.new_page(), page, SLOWER))
            size, requests, _ = found[0]
            paint = median(first for _, _, first in found)
            print(
                f"{name:28s} {size / 1000:6.0f} kB {requests:3d} requests"
                f" {paint:6.0f} ms"
            )
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:] or PAGES)
