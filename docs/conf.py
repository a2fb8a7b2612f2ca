"""The documentation as a site: `sphinx-build -W -c docs . OUT`. Its sources stand where people read them."""

project = "aligncheck"
copyright = "the authors of aligncheck"  # noqa: A001 - Sphinx asks for this name
extensions = ["myst_parser", "aligncheck.sphinx_plugin"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/**",
    "specs/README.md",
    "tests/README.md",
    "tests/*/README.md",
]
exclude_patterns = [".*", "docs/examples"]
nitpicky = True

aligncheck_specs = "specs"
myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "aligncheck"
html_copy_source = html_show_sphinx = html_show_copyright = False
html_extra_path = ["site"]  # the first page leads to docs/index.html


def setup(app):
    """What is wider than a phone scrolls by itself, and from the keyboard, too."""

    def focusable(app, page, template, context, doctree):
        body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
        context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')

    app.connect("html-page-context", focusable)
