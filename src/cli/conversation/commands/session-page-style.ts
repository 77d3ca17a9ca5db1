/**
 * The style sheet of a session's page: light and dark, readable on a phone and on paper.
 */
export const pageStyle = `
:root { --text: #1c1e21; --dim: #62666d; --line: #dcdfe4; --ground: #fff; --raised: #f5f6f8; --accent: #3d4fcf; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e6ea; --dim: #9aa0a8; --line: #34383f; --ground: #16181c; --raised: #1f2227; --accent: #98a5ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1.5rem 1rem 4rem; font: 16px/1.55 system-ui, sans-serif;
  color: var(--text); background: var(--ground); overflow-wrap: anywhere; }
header { border-bottom: 1px solid var(--line); margin-bottom: 1.5rem; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .25rem; }
header p { color: var(--dim); font-size: .85rem; margin: 0 0 1rem; }
section, details { margin: 0 0 1rem; }
.you { border-left: 3px solid var(--accent); padding: .1rem 0 .1rem .8rem; font-weight: 600; }
.you pre { font: inherit; white-space: pre-wrap; margin: 0; padding: 0; background: none; }
.answer > :first-child { margin-top: 0; }
.answer ul, .answer ol { margin: .2rem 0; }
.answer p, .answer li, .answer td { unicode-bidi: plaintext; }
.answer h1, .answer h2, .answer h3, .answer h4 { font-size: 1.05rem; margin: 1.2rem 0 .4rem; }
a { color: var(--accent); }
small, summary i { color: var(--dim); }
pre, code { font: .85rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--raised); border-radius: 6px; margin: .5rem 0; padding: .7rem .8rem; overflow-x: auto; }
details pre { max-height: 24rem; overflow: auto; white-space: pre-wrap; }
details { border: 1px solid var(--line); border-radius: 6px; padding: .4rem .8rem; }
summary { cursor: pointer; }
summary code { color: var(--dim); }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: start; vertical-align: top; }
blockquote { border-left: 3px solid var(--line); color: var(--dim); margin: .8rem 0; padding-left: .8rem; }
hr { border: 0; border-top: 1px solid var(--line); margin: 1.5rem 0; }
@media print { details pre { max-height: none; } }
`;
