/**
 * Finds files and functions that are longer than one idea usually is.
 */
import ts from "typescript";

const mostInFile = 400;
const mostInFunction = 75;

/** What has to be asked about these files: long parts without a reason, and reasons that nothing needs any more. */
export function questionsAbout(files, reasons) {
  const long = files.flatMap(longParts);
  const unexplained = long
    .filter(({ what }) => !(what in reasons))
    .map(
      ({ what, lines, most }) =>
        `${what} has ${lines} lines. Over ${most}, is it still one idea? Split it, or list it with the reason in scripts/check-sizes.mjs.`,
    );
  const outdated = Object.keys(reasons)
    .filter((what) => !long.some((part) => part.what === what))
    .map((what) => `${what} is listed in scripts/check-sizes.mjs, and is not long any more. Remove it from the list.`);
  return [...unexplained, ...outdated];
}

function longParts({ path, text }) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lines = text.trimEnd().split("\n").length;
  const functions = functionsIn(source, source).filter(({ lines }) => lines > mostInFunction);
  return [
    ...(lines > mostInFile ? [{ what: path, lines, most: mostInFile }] : []),
    ...functions.map(({ name, lines }) => ({ what: `${path}#${name}`, lines, most: mostInFunction })),
  ];
}

/** Every function below a node. Lines of a function inside another one count for the inner one only. */
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
