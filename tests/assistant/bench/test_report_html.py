"""The pieces of the page: well-formed, escaped, nothing fetched."""

from __future__ import annotations

from html.parser import HTMLParser

from assistant.bench.report import html

VOID = {"meta", "line", "circle", "br"}


class Checked(HTMLParser):
    """Fails on tags that do not close in order; gathers what a test asks for."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(content)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.seen if name == tag]


def test_what_is_shown_is_text() -> None:
    evil = '<script>alert("1")</script> & "quotes"'
    page = html.document(
        evil,
        [
            html.section("a", evil, [html.table(evil, [evil], [[evil, (evil, "number")]])]),
            html.bars(evil, (evil, evil), [(evil, 1.0, evil)], 1.0),
            html.points(evil, (evil, evil), [(evil, 3.5, 0.01)]),
        ],
    )
    found = Checked(page)
    assert not found.all("script")
    assert evil in found.words


def test_nothing_is_fetched() -> None:
    found = Checked(html.document("t", [html.points("p", ("x", "y"), [("a", 2.0, 1.0)])]))
    named = {key for _, attrs in found.seen for key in attrs}
    assert not named & {"src", "href", "srcset", "action", "data"}
    policy = [a["content"] for a in found.all("meta") if "http-equiv" in a]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_tables_have_headers_and_captions() -> None:
    found = Checked(html.table("cap", ["a", ("b", "number")], [["r", ("1", "number")]]))
    assert [th["scope"] for th in found.all("th")] == ["col", "col", "row"]
    assert found.all("caption")
    found = Checked(html.bars("cap", ("a", "b"), [("r", 2.0, "2"), ("s", 9.0, "9")], 4.0))
    assert [div["style"] for div in found.all("div")] == ["width:50.0%", "width:100.0%"]
    assert [th["scope"] for th in found.all("th")] == ["col", "col", "row", "row"]


def test_bars_of_nothing_have_no_length() -> None:
    found = Checked(html.bars("cap", ("a", "b"), [("r", 0.0, "0")], 0.0))
    assert found.all("div")[0]["style"] == "width:0.0%"


def test_a_plot_has_its_text_and_stays_inside() -> None:
    marks = [("one", 2.4, 0.03), ("two", 8.1, 0.0004), ("three", 4.0, 1.0)]
    found = Checked(html.points("what is seen", ("bits", "error"), marks))
    assert found.all("svg")[0]["role"] == "img"
    assert found.all("svg")[0]["aria-label"] == "what is seen"
    dots = [(float(a["cx"] or 0), float(a["cy"] or 0)) for a in found.all("circle")]
    assert all(0 < x < 400 and 0 < y < 280 for x, y in dots)
    assert dots[0][0] < dots[2][0] < dots[1][0]  # more bits further right
    assert dots[2][1] < dots[0][1] < dots[1][1]  # more error further up
