/**
 * Draws frames of a terminal as an SVG that moves: each version of a row is drawn once, and shown while it was on the screen.
 *
 * The picture is light or dark as the reader's system is. If the reader wants no motion, it shows the last frame.
 */
const letter = { width: 8.4, height: 20 };
const margin = 18;
const bar = 34;

const light = {
  paper: "#ffffff",
  line: "#d8dee4",
  ink: "#24292f",
  1: "#b42318",
  2: "#116329",
  3: "#8a5a00",
  4: "#0550ae",
  5: "#7a3e9d",
  6: "#0a6c74",
  8: "#59636e",
};
const dark = {
  paper: "#0d1117",
  line: "#30363d",
  ink: "#e6edf3",
  1: "#ff8f87",
  2: "#6ad486",
  3: "#e3b341",
  4: "#79b8ff",
  5: "#d2a8ff",
  6: "#76d9e6",
  8: "#9aa4af",
};

export function drawing(frames) {
  const total = frames.reduce((sum, { ms }) => sum + ms, 0);
  const versions = versionsOf(frames);
  const widest = Math.max(...versions.map(({ row }) => lengthOf(row)));
  const lowest = Math.max(...versions.map(({ at }) => at)) + 1;
  const width = Math.ceil(widest * letter.width) + 2 * margin;
  const height = lowest * letter.height + bar + margin;
  const intervals = [...new Map(versions.map((version) => [nameOf(version), version])).values()];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A run of pawl in a terminal, killed and carried on">
<style>
${paletteOf(light)}
@media (prefers-color-scheme: dark) {
${paletteOf(dark)}
}
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: var(--ink); }
.bold { font-weight: 600; }
.dim { opacity: 0.7; }
${[1, 2, 3, 4, 5, 6, 8].map((color) => `.c${color} { fill: var(--c${color}); }`).join("\n")}
.brief { visibility: hidden; }
@media (prefers-reduced-motion: no-preference) {
${intervals.map((version) => motionOf(version, total)).join("\n")}
}
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10" fill="var(--paper)" stroke="var(--line)"/>
<g fill="var(--line)"><circle cx="22" cy="19" r="5.5"/><circle cx="40" cy="19" r="5.5"/><circle cx="58" cy="19" r="5.5"/></g>
${versions.map((version) => rowOf(version, total)).join("\n")}
</svg>
`;
}

/** The text of the last frame of a drawing. */
export function textOf(svg) {
  return [...svg.matchAll(/<text class="r\w+"[^>]*>(.*?)<\/text>/g)]
    .map(([, inner]) =>
      inner
        .replace(/<[^>]+>/g, "")
        .replaceAll("&lt;", "<")
        .replaceAll("&gt;", ">")
        .replaceAll("&amp;", "&"),
    )
    .join("\n");
}

/** Each content that a row had, with the time from which and until which it had it. */
function versionsOf(frames) {
  const ended = [];
  const open = new Map();
  let now = 0;
  for (const { rows, ms } of frames) {
    for (let at = 0; at < Math.max(rows.length, open.size); at++) {
      const row = rows[at] ?? [];
      const before = open.get(at);
      if (before !== undefined && JSON.stringify(before.row) === JSON.stringify(row)) continue;
      if (before !== undefined) ended.push({ ...before, until: now });
      open.set(at, { at, row, from: now });
    }
    now += ms;
  }
  return [...ended, ...[...open.values()].map((version) => ({ ...version, until: now }))]
    .filter(({ row }) => row.length > 0)
    .sort((a, b) => a.at - b.at || a.from - b.from);
}

function nameOf({ from, until }) {
  return `r${from}to${until}`;
}

/** When a version is seen, as an animation of its own. The picture begins again when it has ended. */
function motionOf(version, total) {
  const percent = (ms) => `${Math.round((ms / total) * 10_000) / 100}%`;
  const name = nameOf(version);
  const steps = [];
  if (version.from > 0) steps.push("0% { visibility: hidden; }");
  steps.push(`${percent(version.from)} { visibility: visible; }`);
  if (version.until < total) steps.push(`${percent(version.until)} { visibility: hidden; }`);
  return `.${name} { animation: ${name} ${total}ms step-end infinite; }\n@keyframes ${name} { ${steps.join(" ")} }`;
}

/** A row that is not on the last frame is hidden unless it moves. */
function rowOf(version, total) {
  const { at, row, until } = version;
  const classes = until === total ? nameOf(version) : `brief ${nameOf(version)}`;
  const y = bar + at * letter.height + 14;
  const width = Math.round(lengthOf(row) * letter.width * 10) / 10;
  const spans = row.map(({ text, style }) =>
    style === "" ? escaped(text) : `<tspan class="${style}">${escaped(text)}</tspan>`,
  );
  return `<text class="${classes}" x="${margin}" y="${y}" textLength="${width}" xml:space="preserve">${spans.join("")}</text>`;
}

function paletteOf(colors) {
  const names = Object.entries(colors).map(([name, value]) => `--${/^\d/.test(name) ? "c" : ""}${name}: ${value};`);
  return `:root { ${names.join(" ")} }`;
}

function lengthOf(row) {
  return row.reduce((sum, { text }) => sum + [...text].length, 0);
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
