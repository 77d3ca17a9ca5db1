/**
 * The reference in docs/reference: a page for each entry point, made from the declarations in dist, and tables made from the code.
 *
 *     node scripts/reference.mjs             writes the pages
 *     node scripts/reference.mjs --check     fails if a page is not up to date, or a public member has no sentence
 *     node scripts/reference.mjs --missing   lists the members without a sentence
 *
 * `npm run guide` compiles the examples.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDeclarations } from "./reference/declarations.mjs";
import { fillEventTables } from "./reference/event-tables.mjs";
import { indexOf, linkFrom, pageOf, placeAnchors, sentenceOf } from "./reference/render.mjs";
import { tableProblems, tablesPage } from "./reference/tables.mjs";

const folder = "docs/reference";
const eventsPage = "docs/guide/events.md";
const { pages, places } = readDeclarations();
placeAnchors(pages, places);
const missing = pages.flatMap(withoutSentence);
const files = new Map([
  ...pages.map((page) => [join(folder, page.page), pageOf(page, places)]),
  [join(folder, "tables.md"), tablesPage(pages, linkFrom("tables.md", places))],
  [join(folder, "README.md"), indexOf(pages)],
  [eventsPage, fillEventTables(readFileSync(eventsPage, "utf8"), pages)],
]);

if (process.argv.includes("--missing")) for (const line of missing) console.log(line);
else if (process.argv.includes("--check")) check();
else write();

function write() {
  mkdirSync(folder, { recursive: true });
  for (const file of leftOver()) rmSync(file);
  for (const [file, text] of files) writeFileSync(file, text);
  console.log(`${files.size} pages; ${missing.length} public members without a sentence.`);
}

function check() {
  const problems = [
    ...[...files]
      .filter(([file, text]) => textOf(file) !== text)
      .map(([file]) => `${file} is not up to date: npm run reference`),
    ...leftOver().map((file) => `${file} belongs to no entry point: npm run reference`),
    ...missing.map(
      (line) => `${line} has no sentence. Write a comment in src, which says what it is, its unit and its default.`,
    ),
    ...tableProblems,
  ];
  for (const problem of problems) console.error(problem);
  console.log(`${files.size} pages, ${problems.length} problems.`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

function textOf(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

function leftOver() {
  return textOf(join(folder, "README.md")) === null
    ? []
    : readdirSync(folder)
        .map((name) => join(folder, name))
        .filter((file) => !files.has(file));
}

function withoutSentence(page) {
  const symbols = [
    ...page.symbols.filter(({ doc }) => doc.text === "").map(({ name }) => `${page.name}: ${name}`),
    ...[...page.symbols, ...page.others].flatMap(({ name, members }) => members.flatMap((one) => untold(one, name))),
  ];
  return symbols.map((line) => (line.startsWith(page.name) ? line : `${page.name}: ${line}`));
}

/** Members of a parameter are told with its function. A variant without a name is told with its type. */
function untold(member, path) {
  const own = `${path}.${member.kind === "variant" ? `(${member.title})` : member.name || member.title}`;
  const isNamedVariant = member.kind === "variant" && !member.isNamed && !member.title.includes("{");
  const needsOne = (member.kind === "member" && !member.isOfParameter) || (isNamedVariant && member.members.length > 0);
  const isUntold = needsOne && sentenceOf(member) === "";
  return [...(isUntold ? [own] : []), ...member.members.flatMap((one) => untold(one, own))];
}
