"""What can be read in a picture that is drawn as .svg."""

import html
import re


def texts(path):
    found = re.findall(r"<text[^>]*>(.*?)</text>", path.read_text(), re.S)
    return [html.unescape(re.sub("<[^>]*>", "", text)) for text in found]
