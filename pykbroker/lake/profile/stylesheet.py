"""The style sheet of the page, for light and dark mode."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --dim: #667085; --line: #e3e7ee; --page: #f6f7f9; --card: #fff; --bar: #3867d6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --dim: #98a2b3; --line: #2c3442; --page: #12161d; --card: #1a2029; --bar: #7aa2ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 24px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 40px 0 12px; overflow-wrap: anywhere; }
header p, figcaption, figure > p { color: var(--dim); margin: 4px 0; }
figcaption b { color: var(--ink); margin-right: 6px; }
dl { display: flex; flex-wrap: wrap; gap: 10px; margin: 0 0 16px; }
dt { color: var(--dim); font-size: 13px; }
dd { margin: 0; font-size: 18px; font-variant-numeric: tabular-nums; }
dl div { display: flex; flex-direction: column-reverse; padding: 8px 14px; }
.panels { columns: 2 420px; column-gap: 16px; }
figure { margin: 0 0 16px; padding: 14px 16px; break-inside: avoid; }
figure, dl div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figcaption { margin-bottom: 10px; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg.spark { width: 160px; height: 24px; }
.bar { fill: var(--bar); }
.hit { fill: transparent; }
g:hover > .hit { fill: var(--line); }
.grid { stroke: var(--line); }
text { font: 12px system-ui, sans-serif; fill: var(--dim); font-variant-numeric: tabular-nums; }
.tick { text-anchor: middle; }
.value, .name { text-anchor: end; }
.name { fill: var(--ink); }
table { border-collapse: collapse; width: 100%; background: var(--card); font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--dim); font-weight: normal; }
th, td { padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line); }
section > table { border: 1px solid var(--line); border-radius: 8px; border-spacing: 0; }
section > table th, section > table td { padding: 7px 14px; }
a { color: var(--bar); text-decoration: none; }
"""
