/**
 * Draws the rooms of `src` as an SVG: importers above what they import, one column for each area, and only the arrows that do not
 * follow from others. The same rooms and arrows give the same bytes.
 */
import { entryPoints, layersOf, pairs, reduced } from "./room-graph.mjs";

const rowHeight = 62;
const boxHeight = 32;
const gap = 14;
const padding = 16;
const margin = 20;
const legendHeight = 44;
const titleHeight = 22;
const thread = 8;
/** How often the boxes move towards their neighbours. They rest long before. */
const rounds = 60;

/** Columns from left to right; areas that share a column stand above each other. Other areas share one more column at the right. */
const columns = [
  ["stores"],
  ["context"],
  ["core", "ports", "runtime", "engine", entryPoints, "server", "cli", "protocols", "testing"],
  ["models"],
  ["tools"],
];
/** Areas of several rooms, which get a panel with the area's name. */
const panelled = ["core", "runtime", "stores", "models", "tools"];
const fills = {
  core: ["#dbe7f6", "#3b6ea5"],
  ports: ["#e4e1f3", "#6a5fa8"],
  context: ["#e4e1f3", "#6a5fa8"],
  runtime: ["#dcefe2", "#3c8558"],
  stores: ["#f6e8d6", "#a8712a"],
  models: ["#f6e8d6", "#a8712a"],
  tools: ["#f6e8d6", "#a8712a"],
};
const otherFill = ["#ececec", "#6b6b6b"];

/** @param arrows for each room, the rooms that it imports; @param order the rooms in the order of reading */
export function draw(arrows, order) {
  const drawn = new Map(
    [...arrows].filter(([room]) => !room.endsWith(".ts")).map(([room, to]) => [room, to.filter(isBox)]),
  );
  const edges = reduced(drawn);
  const layers = layersOf(drawn);
  const top = Math.max(...layers.values());
  const { nodes, links } = withThreads(edges, layers, order);
  const rows = Array.from({ length: top + 1 }, (_, layer) => nodes.filter((node) => node.layer === layer));
  const lanes = lanesOf(rows);
  for (let round = 0; round < rounds; round++) for (const row of rows) place(row, lanes);
  const width = lanes.at(-1).right + margin;
  stretch(nodes, lanes);
  const yOf = (layer) => legendHeight + (top - layer) * rowHeight + 8;
  const height = yOf(0) + boxHeight + padding + margin;
  const areas = panels(nodes, lanes, yOf);
  const body = [
    ...areas.map(({ frame }) => frame),
    ...links.map((link) => arrow(link, yOf)),
    ...areas.map(({ title }) => title),
    ...nodes.filter(({ room }) => room !== undefined).map((node) => box(node, yOf)),
  ];
  return `${head(width, height, pairs(edges).length)}${body.join("\n")}\n</svg>\n`;
}

function isBox(room) {
  return !room.endsWith(".ts");
}

function areaOf(room) {
  return room.split("/")[0];
}

function columnOf(area) {
  const found = columns.findIndex((areas) => areas.includes(area));
  return found === -1 ? columns.length : found;
}

/** One node for each room; and one for each layer that an arrow passes, so that arrows go between boxes and not through them. */
function withThreads(edges, layers, order) {
  const rank = (room) => (order.includes(room) ? order.indexOf(room) : order.length);
  const rooms = [...edges.keys()].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const nodes = rooms.map((room) => {
    const text = labelOf(room);
    const width = Math.round(text.length * 7.6) + 22;
    const column = columnOf(areaOf(room));
    return { room, text, width, layer: layers.get(room), column, rank: rooms.indexOf(room), near: [], x: 0 };
  });
  const byRoom = new Map(nodes.map((node) => [node.room, node]));
  const links = pairs(edges).map(([from, to]) => {
    const [above, below] = [byRoom.get(from), byRoom.get(to)];
    const side = below.column === columnOf("runtime") ? above.column : below.column;
    const path = [above];
    for (let layer = above.layer - 1; layer > below.layer; layer--) {
      const passing = { width: thread, layer, column: side, rank: below.rank, near: [], x: 0 };
      nodes.push(passing);
      path.push(passing);
    }
    path.push(below);
    for (const [index, node] of path.slice(1).entries()) join(path[index], node);
    return path;
  });
  return { nodes, links };
}

function labelOf(room) {
  const area = areaOf(room);
  return panelled.includes(area) && room !== area ? room.slice(area.length + 1) : room;
}

function isWide(node) {
  return node.room === "ports" || node.room === entryPoints;
}

/** Neighbours pull at each other. A wide box is met anywhere along its length, so it does not pull. */
function join(one, other) {
  if (!isWide(other)) one.near.push(other);
  if (!isWide(one)) other.near.push(one);
}

/** The columns, each as wide as its widest row. */
function lanesOf(rows) {
  const count = Math.max(...rows.flat().map(({ column }) => column)) + 1;
  const lanes = [];
  let left = margin;
  for (let column = 0; column < count; column++) {
    const widths = rows.map((row) => rowWidth(row.filter((node) => node.column === column)));
    const right = left + Math.max(...widths) + 2 * padding;
    lanes.push({ left, right, middle: (left + right) / 2 });
    left = right + gap;
  }
  return lanes;
}

function rowWidth(nodes) {
  return nodes.reduce((sum, node) => sum + (isWide(node) ? 0 : node.width + gap), -gap);
}

/** Puts the nodes of a row as near to their neighbours as the order and the column allow. */
function place(row, lanes) {
  for (const [column, lane] of lanes.entries()) {
    const nodes = row.filter((node) => node.column === column && !isWide(node));
    for (const node of nodes) {
      const pulls = node.near.filter((other) => other.column === column && other.x > 0).map(({ x }) => x);
      node.wish = pulls.length === 0 ? lane.middle : pulls.reduce((sum, x) => sum + x, 0) / pulls.length;
    }
    // Columns left of the runtime are mirrored, so that the arrows from the middle do not cross.
    const mirror = column < columnOf("runtime") ? -1 : 1;
    const isMiddle = column === columnOf("runtime");
    const keyOf = (node) => (node.room === undefined ? node.wish : lane.middle);
    const sorted = [...nodes].sort((a, b) => (isMiddle ? keyOf(a) - keyOf(b) : 0) || mirror * (a.rank - b.rank));
    settle(sorted, lane);
  }
}

/** Least movement with the order and the gaps kept: neighbours that overlap move as one block. */
function settle(nodes, { left, right }) {
  const blocks = [];
  for (const node of nodes) {
    let block = { nodes: [node], width: node.width, centre: node.wish };
    for (let last = blocks.at(-1); last !== undefined && overlaps(last, block); last = blocks.at(-1)) {
      blocks.pop();
      block = merged(last, block);
    }
    blocks.push(block);
  }
  let free = left + padding;
  for (const block of blocks) {
    const start = Math.max(free, Math.min(block.centre - block.width / 2, right - padding - block.width));
    let x = start;
    for (const node of block.nodes) {
      node.x = x + node.width / 2;
      x += node.width + gap;
    }
    free = x;
  }
}

function overlaps(one, other) {
  return one.centre + one.width / 2 + gap > other.centre - other.width / 2;
}

function merged(one, other) {
  const nodes = [...one.nodes, ...other.nodes];
  const width = one.width + gap + other.width;
  const centre = nodes.reduce((sum, node) => sum + node.wish, 0) / nodes.length;
  return { nodes, width, centre };
}

/** A wide box reaches over all columns; the entry points leave room at the left for the programs' way to a store. */
function stretch(nodes, lanes) {
  for (const node of nodes.filter(isWide)) {
    const passing = nodes.filter((other) => other.layer === node.layer && other.room === undefined);
    const left = Math.max(lanes[0].left, ...passing.filter(({ x }) => x < lanes[0].right).map(({ x }) => x + gap));
    node.width = lanes.at(-1).right - left;
    node.x = left + node.width / 2;
  }
}

function panels(nodes, lanes, yOf) {
  return panelled.flatMap((area) => {
    const rooms = nodes.filter(({ room }) => room !== undefined && areaOf(room) === area);
    if (rooms.length === 0) return [];
    const { left, right } = lanes[rooms[0].column];
    const highest = yOf(Math.max(...rooms.map(({ layer }) => layer))) - titleHeight;
    const height = yOf(Math.min(...rooms.map(({ layer }) => layer))) + boxHeight + 10 - highest;
    const [, stroke] = fills[area] ?? otherFill;
    const frame = `<rect x="${round(left)}" y="${highest}" width="${round(right - left)}" height="${height}" rx="8" fill="#ffffff" stroke="${stroke}" stroke-opacity="0.5"/>`;
    const title = `<text x="${round(left + 10)}" y="${highest + 16}" class="area" style="fill: ${stroke}">src/${area}</text>`;
    return [{ frame, title }];
  });
}

function arrow(path, yOf) {
  const first = path[0];
  const last = path.at(-1);
  const startX = isWide(first) ? clamp(path[1].x, first) : first.x;
  const points = path.slice(1, -1).map(({ x, layer }) => [x, yOf(layer), yOf(layer) + boxHeight]);
  let [x, y] = [startX, yOf(first.layer) + boxHeight];
  let d = `M${round(x)} ${y}`;
  for (const [nextX, enter, leave] of points) {
    d += `${curve(x, y, nextX, enter)}V${leave}`;
    [x, y] = [nextX, leave];
  }
  const endX = isWide(last) ? clamp(x, last) : last.x;
  return `<path d="${d}${curve(x, y, endX, yOf(last.layer) - 1)}" class="arrow" marker-end="url(#head)"/>`;
}

function clamp(x, { x: middle, width }) {
  return Math.max(middle - width / 2 + 12, Math.min(middle + width / 2 - 12, x));
}

function curve(x, y, toX, toY) {
  const half = (y + toY) / 2;
  return `C${round(x)} ${half} ${round(toX)} ${half} ${round(toX)} ${toY}`;
}

function box({ room, text, x, width, layer }, yOf) {
  const [fill, stroke] = fills[areaOf(room)] ?? otherFill;
  return `<g><title>${room}</title><rect x="${round(x - width / 2)}" y="${yOf(layer)}" width="${round(width)}" height="${boxHeight}" rx="5" fill="${fill}" stroke="${stroke}"/><text x="${round(x)}" y="${yOf(layer) + 21}" class="room">${text}</text></g>`;
}

function head(width, height, count) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width)} ${height}" width="${round(width)}" height="${height}" role="img" aria-label="The rooms of src and their imports, from the programs at the top to core/data at the bottom">
<!-- Written by scripts/rooms.mjs from the imports of src. Do not edit. -->
<style>
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
.room { font-size: 14px; font-weight: 600; text-anchor: middle; }
.area { font-size: 13px; font-weight: 600; paint-order: stroke; stroke: #ffffff; stroke-width: 6px; }
.note { font-size: 13px; }
.arrow { fill: none; stroke: #57606a; stroke-width: 1.4; }
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8Z" fill="#57606a"/></marker></defs>
<rect width="100%" height="100%" rx="10" fill="#f6f8fa"/>
<text x="${margin}" y="26" class="note">An arrow means “imports”. All arrows go down. ${count} arrows are drawn: an arrow that follows from others is left out.</text>
`;
}

function round(number) {
  return Math.round(number);
}
