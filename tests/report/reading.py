"""Parse a page, and find everything that could run or load something."""

from html.parser import HTMLParser

HEAD = ("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3")
WORDS = ("p", "div", "small", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd")
PICTURES = ("figure", "figcaption", "img", "svg", "g", "path", "defs", "clippath", "rect", "use", "text", "image")
INERT = {*HEAD, *WORDS, *PICTURES}


class Reading(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.words, self._inside = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_data(self, data):
        if self.tags[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def dangers(self):
        """Return the tags and attributes that could run code or load something."""
        dangers = [tag for tag in self.tags if tag not in INERT]
        for tag, name, value in self.attributes:
            target = name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster")
            if name.startswith("on") or (target and not value.startswith(("#", "data:image/png;base64,"))):
                dangers.append((tag, name, value[:60]))
            if name == "style" and ("url(" in value or "expression" in value):
                dangers.append((tag, name, value[:60]))
        return dangers
