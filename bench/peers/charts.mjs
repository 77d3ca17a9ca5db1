/**
 * Charts as SVG: bars on a scale of powers of ten, one for each contender, Pawl's in its own color.
 */
import { labelOf } from "./tables.mjs";

const width = 720;
const row = 26;
const left = 210;
const right = 90;
const top = 54;

/** A file name and its SVG for each chart that the results have figures for. */
export function chartsOf({ node, results }) {
  const major = Number.parseInt(node, 10);
  const charts = [
    ["w1", "A step, streamed and consumed (µs)", results.W1, ({ us }) => us],
    ["w2", "A delta of a long answer (µs)", results.W2?.rows, ({ us }) => us],
    ["w3", "Step 2,000 of one run (µs)", results.W3?.rows, ({ points }) => points.at(-1)],
    ["w4-tool", "A run that waits in a tool (KB)", results.W4?.tool, ({ kilobytes }) => kilobytes],
    ["w4-person", "A run that waits for a person (KB)", results.W4?.person, ({ kilobytes }) => kilobytes],
    ["w5", "A durable step, synchronous NORMAL (µs)", results.W5?.normal?.rows, ({ us }) => us],
    ["w6", "Import of the main entry (ms)", results.W6, ({ importMs }) => importMs],
  ];
  return charts.flatMap(([name, title, rows, figureOf]) => {
    const bars = (rows ?? [])
      .filter(({ failure }) => failure === undefined)
      .map((one) => ({ name: one.name, label: labelOf(one.name), value: figureOf(one) }))
      .filter(({ value }) => value !== null);
    return bars.length === 0
      ? []
      : [{ file: `${name}-node${major}.svg`, svg: barChart(`${title}, Node ${major}`, bars) }];
  });
}

function barChart(title, bars) {
  const values = bars.map(({ value }) => Math.max(value, 0.01));
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const scale = (value) => ((Math.log10(value) - low) / (high - low)) * (width - left - right);
  const height = top + bars.length * row + 30;
  const lines = Array.from({ length: high - low + 1 }, (_, index) => low + index).map((power) => {
    const x = (left + scale(10 ** power)).toFixed(1);
    return `<line x1="${x}" x2="${x}" y1="${top - 6}" y2="${height - 26}" class="grid"/><text x="${x}" y="${height - 10}" text-anchor="middle" class="axis">${figure(10 ** power)}</text>`;
  });
  const drawn = bars.map(({ name, label, value }, index) => {
    const y = top + index * row;
    const long = Math.max(2, scale(Math.max(value, 0.01)));
    const kind = name.startsWith("pawl") ? "own" : name.startsWith("floor") ? "floor" : "peer";
    return `<text x="${left - 10}" y="${y + 15}" text-anchor="end">${escaped(label)}</text><rect x="${left}" y="${y + 3}" width="${long.toFixed(1)}" height="16" rx="2" class="${kind}"/><text x="${(left + long + 6).toFixed(1)}" y="${y + 15}">${figure(value)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f; } .title { font-weight: 600; font-size: 15px; } .axis { fill: #6e7781; font-size: 11px; }
.grid { stroke: #d0d7de; } .own { fill: #0a7d4f; } .floor { fill: #afb8c1; } .peer { fill: #6e8fb5; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .axis { fill: #8b949e; } .grid { stroke: #30363d; } .own { fill: #2fbf80; } .floor { fill: #484f58; } }
</style>
<text x="16" y="26" class="title">${escaped(title)}</text>
${[...lines, ...drawn].join("\n")}
</svg>
`;
}

/** Three significant digits. */
function figure(value) {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  if (value >= 10) return value.toFixed(0) === String(value) ? String(value) : value.toFixed(1);
  return String(Number(value.toPrecision(2)));
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
