/**
 * A line chart as SVG: one panel for each line, all over the same steps, each from zero.
 */
const width = 720;
const height = 150;
const left = 60;
const right = 20;
const top = 34;
const bottom = 26;

export function chart(title, steps, lines) {
  const panels = lines.map((line, index) => panel(line, steps, 40 + index * height));
  const whole = 40 + lines.length * height;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${whole}" font-family="sans-serif" font-size="12">
<title>${title}</title>
<rect width="${width}" height="${whole}" fill="#ffffff"/>
<text x="${left}" y="24" fill="#333333">${title}</text>
${panels.join("\n")}
</svg>
`;
}

function panel({ name, values }, steps, y) {
  const most = Math.max(...values) * 1.25 || 1;
  const last = steps.at(-1) ?? 1;
  const x = (step) => left + ((width - left - right) * step) / last;
  const at = (value) => y + height - bottom - ((height - top - bottom) * value) / most;
  const points = values.map((value, index) => `${x(steps[index]).toFixed(1)},${at(value).toFixed(1)}`).join(" ");
  const label = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
  return `<text x="${left}" y="${y + 20}" fill="#333333">${name}</text>
<line x1="${left}" y1="${at(0)}" x2="${width - right}" y2="${at(0)}" stroke="#999999"/>
<text x="${left - 6}" y="${at(0) + 4}" text-anchor="end" fill="#666666">0</text>
<text x="${left - 6}" y="${at(most) + 4}" text-anchor="end" fill="#666666">${label(most)}</text>
<text x="${width - right}" y="${at(0) + 16}" text-anchor="end" fill="#666666">${last} steps</text>
<polyline points="${points}" fill="none" stroke="#2563a8" stroke-width="2"/>`;
}
