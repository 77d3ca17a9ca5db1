/**
 * The rooms of `src` as they are: counts of imports, and the table and the picture of docs/architecture.md.
 *
 *     npm run rooms               fails on a cycle, a forbidden import, an allowance that nothing uses, or an outdated page or picture
 *     npm run rooms -- --write    writes the table and the picture
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cyclesIn, forbiddenIn, pairs, readGraph, unusedIn } from "./room-graph.mjs";
import { draw } from "./room-picture.mjs";
import roomList from "./rooms.cjs";

const { rooms, programs, contracts } = roomList;
const page = "docs/architecture.md";
const picture = "docs/architecture/rooms.svg";
const [begin, end] = ["<!-- rooms: begin -->", "<!-- rooms: end -->"];

const { arrows, fileImports } = readGraph();
const cycles = cyclesIn(arrows);
const forbidden = forbiddenIn(arrows);
const unused = unusedIn(arrows);
console.log(
  `${arrows.size} rooms, ${pairs(arrows).length} arrows between rooms, ${fileImports} imports between files.`,
);
console.log(
  `${cycles.length} arrows on a cycle, ${forbidden.length} forbidden arrows, ${unused.length} unused allowances.`,
);

const problems = [
  ...cycles.map((one) => `${one} lies on a cycle. Move what both need into a room below them.`),
  ...forbidden.map((one) => `${one} is not allowed. See scripts/rooms.cjs.`),
  ...unused.map((one) => `${one} is allowed, but no import needs it. Remove it from scripts/rooms.cjs.`),
];
if (cycles.length === 0) problems.push(...bringUpToDate(process.argv.includes("--write")));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Writes the table and the picture, or says which of them is not that of the present imports. */
function bringUpToDate(writes) {
  const order = [...rooms, ...programs].map(({ room }) => room);
  const wanted = [
    [page, withTable(readFileSync(page, "utf8"))],
    [picture, draw(arrows, order)],
  ];
  if (writes) for (const [path, text] of wanted) writeFileSync(path, text);
  return wanted
    .filter(([path, text]) => readFileSync(path, "utf8") !== text)
    .map(([path]) => `${path} is not up to date. Write it with: npm run rooms -- --write`);
}

function withTable(text) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${page} has lost the marks ${begin} and ${end}.`);
  return `${text.slice(0, from)}${begin}\n${table()}${text.slice(to)}`;
}

/** From the top down, as the picture. */
function table() {
  const rows = [
    ...programs.map(({ room, about, uses = [], isPage = false }) =>
      row(room, about, [isPage ? "types" : "the package's entry points", ...uses]),
    ),
    ...[...rooms].reverse().map(({ room, about, imports }) => row(room, about, othersIn(imports))),
  ];
  return `| room | what it is for | may import |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function row(room, about, imports) {
  return `| \`${room}\` | ${about} | ${imports.join(", ") || "nothing"} |`;
}

/** The four rooms of the core, and the contracts, are named in one word each. */
function othersIn(imports) {
  const core = contracts.filter((name) => name.startsWith("core/"));
  const has = (names) => names.length > 0 && names.every((name) => imports.includes(name));
  const [named, covered] = has(contracts) ? ["*contracts*", contracts] : has(core) ? ["core", core] : ["", []];
  const rest = imports.filter((name) => !covered.includes(name)).map((name) => `\`${name}\``);
  return named === "" ? rest : [named, ...rest];
}
