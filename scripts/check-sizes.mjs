/**
 * Files of one idea and functions that fit on a page: fails where a source file is longer than 300 lines or a function longer than
 * 60, unless it is listed here with the reason. What is inside of a nested function counts for that function only.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const mostInFile = 300;
const mostInFunction = 60;

/** Path, or path and name of a function as `path#name` → why it is one all the same. */
const allowed = {};

const files = readdirSync("src", { recursive: true }).filter((file) => file.endsWith(".ts"));
const long = files.flatMap((file) => longParts(join("src", file).replaceAll("\\", "/")));

const unexplained = long.filter(({ what }) => !(what in allowed));
const outdated = Object.keys(allowed).filter((what) => !long.some((part) => part.what === what));
for (const { what, lines, most } of unexplained) {
  console.error(`${what} has ${lines} lines; over ${most} it is asking to be two.`);
}
for (const what of outdated)
  console.error(`${what} is on the list in scripts/check-sizes.mjs and is not too long any more.`);
process.exitCode = unexplained.length + outdated.length > 0 ? 1 : 0;

function longParts(path) {
  const text = readFileSync(path, "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lines = text.trimEnd().split("\n").length;
  const functions = functionsIn(source, source).filter(({ lines }) => lines > mostInFunction);
  return [
    ...(lines > mostInFile ? [{ what: path, lines, most: mostInFile }] : []),
    ...functions.map(({ name, lines }) => ({ what: `${path}#${name}`, lines, most: mostInFunction })),
  ];
}

/** Every function below a node, with its lines without those of the functions in it. */
function functionsIn(node, source) {
  const inner = [];
  ts.forEachChild(node, (child) => {
    inner.push(...functionsIn(child, source));
  });
  if (!ts.isFunctionLike(node) || node.body === undefined) return inner;
  const total = linesOf(node, source);
  const nested = inner.filter(({ isNested }) => !isNested).reduce((sum, { total }) => sum + total, 0);
  const own = { name: nameOf(node, source), total, lines: total - nested, isNested: false };
  return [own, ...inner.map((entry) => ({ ...entry, isNested: true }))];
}

/** A function on one line shares it with what it is in. */
function linesOf(node, source) {
  const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
  const last = source.getLineAndCharacterOfPosition(node.getEnd()).line;
  return last === first ? 0 : last - first + 1;
}

function nameOf(node, source) {
  const named = node.name ?? node.parent.name;
  return named === undefined
    ? `line ${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`
    : named.getText(source);
}
