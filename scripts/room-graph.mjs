/**
 * The rooms of `src` and the imports between them, as they are: read from the source files with TypeScript, type imports included.
 */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import ts from "typescript";
import roomList from "./rooms.cjs";

const { rooms, programs, contracts } = roomList;

/** Two rooms of the graph that scripts/rooms.cjs does not list. They may import anything. */
export const entryPoints = "entry points";
const testing = "testing";
const names = [...rooms, ...programs].map(({ room }) => room).concat(testing);

/** The room of a file of `src`, by its path from there. A file beside the rooms that every room may import is a room of its own. */
export function roomOf(file) {
  const room = names.filter((name) => file.startsWith(`${name}/`)).sort((a, b) => b.length - a.length)[0];
  return room ?? (contracts.includes(file) ? file : entryPoints);
}

/**
 * @returns `fileImports`: how many imports of one file by another there are; `arrows`: for each room, the rooms that it imports, both
 * in the order of the alphabet
 */
export function readGraph(source = "src") {
  const files = readdirSync(source, { recursive: true })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /[.]tsx?$/.test(file))
    .sort();
  const arrows = new Map([...new Set(files.map(roomOf))].sort().map((room) => [room, new Set()]));
  let fileImports = 0;
  for (const file of files)
    for (const imported of importsOf(source, file)) {
      fileImports += 1;
      if (roomOf(file) !== roomOf(imported)) arrows.get(roomOf(file)).add(roomOf(imported));
    }
  return { fileImports, arrows: new Map([...arrows].map(([room, imported]) => [room, [...imported].sort()])) };
}

/** The files of `src` that a file imports, each once. */
function importsOf(source, file) {
  const { importedFiles } = ts.preProcessFile(readFileSync(`${source}/${file}`, "utf8"), true, true);
  const paths = importedFiles
    .map(({ fileName }) => fileName)
    .filter((path) => path.startsWith("."))
    .map((path) => posix.join(posix.dirname(file), path).replace(/[.]js$/, ".ts"));
  return new Set(paths);
}

/** Every arrow that lies on a cycle, as "a → b". */
export function cyclesIn(arrows) {
  return pairs(arrows)
    .filter(([from, to]) => reaches(arrows, to, from))
    .map(arrowText);
}

/** Every arrow that scripts/rooms.cjs does not allow. What is not in its list of rooms is left to the import rules. */
export function forbiddenIn(arrows) {
  const allowed = new Map(rooms.map(({ room, imports }) => [room, imports]));
  return pairs(arrows)
    .filter(([from, to]) => allowed.has(from) && !allowed.get(from).includes(to))
    .map(arrowText);
}

/** What scripts/rooms.cjs allows a room and no import uses, as "a → b". What every room may import is not asked about. */
export function unusedIn(arrows) {
  return rooms.flatMap(({ room, imports }) =>
    imports
      .filter((other) => !contracts.includes(other) && !(arrows.get(room) ?? []).includes(other))
      .map((other) => arrowText([room, other])),
  );
}

/** Without the arrows that follow from others: a → c is left out if there are a → b and a way from b to c. */
export function reduced(arrows) {
  const isDirect = (targets, to) => !targets.some((other) => other !== to && reaches(arrows, other, to));
  return new Map([...arrows].map(([room, targets]) => [room, targets.filter((to) => isDirect(targets, to))]));
}

/** How far each room is from the bottom: one more than the highest room that it imports. */
export function layersOf(arrows) {
  const layers = new Map();
  const layerOf = (room) => {
    if (!layers.has(room)) layers.set(room, Math.max(-1, ...arrows.get(room).map(layerOf)) + 1);
    return layers.get(room);
  };
  for (const room of arrows.keys()) layerOf(room);
  return layers;
}

export function pairs(arrows) {
  return [...arrows].flatMap(([from, targets]) => targets.map((to) => [from, to]));
}

function arrowText([from, to]) {
  return `${from} → ${to}`;
}

function reaches(arrows, from, to, seen = new Set()) {
  if (from === to) return true;
  if (seen.has(from)) return false;
  seen.add(from);
  return (arrows.get(from) ?? []).some((next) => reaches(arrows, next, to, seen));
}
