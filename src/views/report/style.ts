/** The style of the report: light or dark as the reader's system is, and fit for paper. */
export const STYLE = `
:root { color-scheme: light dark;
  --back: #ffffff; --card: #f6f8fa; --text: #1f2328; --dim: #59636e; --line: #d1d9e0;
  --green: #1a7f37; --red: #cf222e; --yellow: #9a6700; --blue: #0969da }
@media (prefers-color-scheme: dark) { :root {
  --back: #0d1117; --card: #151b23; --text: #e6edf3; --dim: #9198a1; --line: #3d444d;
  --green: #3fb950; --red: #f85149; --yellow: #d29922; --blue: #4493f8 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 64rem; padding: 2rem 1.25rem 4rem; background: var(--back);
  color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .6rem }
p { margin: .3rem 0 }
a { color: var(--blue) }
code, pre { font: .86em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  overflow-wrap: anywhere }
code { background: var(--card); border: 1px solid var(--line); border-radius: 4px; padding: .05em .35em }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0;
  padding: .5rem .7rem; white-space: pre-wrap }
header { border-bottom: 1px solid var(--line); padding-bottom: 1rem }
.dim { color: var(--dim) } .green { color: var(--green) } .red { color: var(--red) }
.yellow { color: var(--yellow) }
.badge { border: 1px solid currentColor; border-radius: 2em; font-size: .8rem; font-weight: 600;
  margin-left: .5rem; padding: .1em .7em; vertical-align: .25em; white-space: nowrap }
dl { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); margin: 1.25rem 0 0 }
dl div { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .55rem .8rem }
dt { color: var(--dim); font-size: .8rem }
dd { font-size: 1.2rem; font-weight: 600; margin: 0 }
dd small { color: var(--dim); display: block; font-size: .75rem; font-weight: 400 }
ul { margin: .3rem 0; padding-left: 1.2rem }
li { margin: .3rem 0 }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .88rem; width: 100% }
th { color: var(--dim); font-weight: 600; text-align: left; white-space: nowrap }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top }
td { overflow-wrap: anywhere }
.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap }
.fixed { white-space: nowrap; overflow-wrap: normal }
svg { display: block; height: auto; min-width: 40rem; width: 100% }
svg text { fill: var(--dim); font-size: 12px }
svg .name { fill: var(--text) }
svg .grid { stroke: var(--line) }
svg .bar.green { fill: var(--green) } svg .bar.red { fill: var(--red) }
svg .bar.yellow { fill: var(--yellow) } svg .bar.dim { fill: var(--blue) }
svg .wait { fill: var(--yellow); opacity: .3 }
svg .curve { fill: none; stroke: var(--blue); stroke-width: 2 }
svg .area { fill: var(--blue); opacity: .12 }
svg .limit { stroke: var(--red); stroke-dasharray: 5 4 }
figure { margin: 0; overflow-x: auto }
.legend { color: var(--dim); font-size: .82rem }
.legend span { display: inline-block; margin-right: 1.1rem }
.blue { color: var(--blue) }
.legend .wait { color: var(--yellow); opacity: .4 }
.legend i { background: currentColor; border-radius: 2px; display: inline-block; height: .7em; margin-right: .35em; width: .9em }
footer { border-top: 1px solid var(--line); color: var(--dim); font-size: .8rem; margin-top: 2.5rem; padding-top: .6rem }
@media print {
  :root { --back: #fff; --card: #fff; --text: #000; --dim: #444; --line: #bbb; --green: #1a7f37;
    --red: #cf222e; --yellow: #9a6700; --blue: #0969da }
  * { print-color-adjust: exact }
  body { font-size: 11px; max-width: none; padding: 0 }
  svg { min-width: 0 }
  h2 { break-after: avoid } tr, dl div, li, figure { break-inside: avoid } thead { display: table-header-group }
}
`
