"""Define the colors and fonts of SVG drawings, for light and dark color schemes.

All rules are scoped to one class, so that they do not affect a page that embeds the SVG.
"""

ROOT_CLASS = "forum-graph"

_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
_SANS = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif"

_BASE = {
    "text": f"font-family:{_MONO}",
    ".sans": f"font-family:{_SANS}",
    ".name": "font-size:17px;font-weight:600",
    ".summary": "font-size:12px",
    ".wave": "font-size:11px;font-weight:600;letter-spacing:.06em;text-anchor:middle",
    ".id": "font-size:13px;font-weight:600",
    ".performer": "font-size:11px",
    ".mark text": "font-size:9.5px;text-anchor:middle",
    ".label": "font-size:10.5px;text-anchor:end",
    ".edge": "fill:none;stroke-width:1.5",
    ".order": "stroke-dasharray:5 4",
}

# Selector, declarations, and the colors of the light and the dark scheme.
_COLORS = (
    (".page,.plate", "fill:{}", "#ffffff", "#0f141b"),
    (".band", "fill:{}", "#f5f7fa", "#161d27"),
    (".box", "fill:{};stroke:{}", "#ffffff #c3ccd8", "#1e2733 #3d4a5c"),
    (".name,.id", "fill:{}", "#17202e", "#e8edf4"),
    (".summary,.performer,.wave", "fill:{}", "#5d6b7f", "#98a6b8"),
    (".label", "fill:{}", "#2457a8", "#9cc2ff"),
    (".edge.data", "stroke:{}", "#4a7fd0", "#5b93e6"),
    (".tip.data", "fill:{}", "#4a7fd0", "#5b93e6"),
    (".edge.order", "stroke:{}", "#8a97a8", "#75849a"),
    (".tip.order", "fill:{}", "#8a97a8", "#75849a"),
    (".gate rect", "fill:{}", "#fdf0cf", "#46360e"),
    (".gate text", "fill:{}", "#7a5200", "#f6d27a"),
    (".when rect", "fill:{}", "#d8f3ee", "#0f3d38"),
    (".when text", "fill:{}", "#0b5f54", "#7fe0d0"),
    (".foreach rect", "fill:{}", "#eae4fc", "#352a5c"),
    (".foreach text", "fill:{}", "#5335a8", "#c9b8ff"),
    (".allow_failure rect", "fill:{}", "#fde4e6", "#4d1f28"),
    (".allow_failure text", "fill:{}", "#9b2335", "#ffb0ba"),
)


def stylesheet() -> str:
    light = {selector: declarations.format(*colors.split()) for selector, declarations, colors, _ in _COLORS}
    dark = {selector: declarations.format(*colors.split()) for selector, declarations, _, colors in _COLORS}
    return f"{_rules(_BASE)}{_rules(light)}@media (prefers-color-scheme:dark){{{_rules(dark)}}}"


def _rules(rules: dict[str, str]) -> str:
    return "".join(
        ",".join(f".{ROOT_CLASS} {selector}" for selector in selectors.split(",")) + f"{{{declarations}}}"
        for selectors, declarations in rules.items()
    )
