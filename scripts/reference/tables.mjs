/**
 * Tables of what holds everywhere, in docs/reference/tables.md: error codes, limits, options, environment variables, files and exit
 * codes. They are made from the code; what a variable, a file or an exit code is for is told here. A name that only one of the two
 * knows is a problem.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { exitCodeTexts, fileTexts, notFiles, notVariables, variableTexts } from "./table-texts.mjs";

const built = (path) => import(pathToFileURL(join(process.cwd(), "temp/build", path)).href);
const { errorCodes } = await built("errors.js");
const { serverCodes, statusOf } = await built("server/server-error.js");
const { defaultLimits } = await built("runtime/agent/limits.js");
const { knownProviders } = await built("models/registry/providers.js");
const { exitCodes } = await built("cli/exit.js");
const { reasons } = await built("core/data/reasons.js");

/** What the code and the texts here do not say alike. */
export const tableProblems = [
  ...differences("environment variable", variablesInCode(), [...Object.keys(variableTexts), ...providerVariables()]),
  ...differences("file", filesInCode(), Object.keys(fileTexts)),
  ...differences("exit code", Object.keys(exitCodes), Object.keys(exitCodeTexts)),
];

/** @param linkTo links an exported name */
export function tablesPage(pages, linkTo) {
  const sections = [
    ["Error codes", errorSection()],
    ["Limits of a run", limitSection(pages, linkTo)],
    ["Limits of a server", serverLimitSection(pages, linkTo)],
    ["Options", optionSection(pages, linkTo)],
    ["Environment variables", variableSection()],
    ["Providers", providerSection()],
    ["Files", fileSection()],
    ["Exit codes", exitCodeSection()],
  ];
  const contents = sections.map(([title]) => `[${title}](#${title.toLowerCase().replaceAll(" ", "-")})`).join(", ");
  return (
    [
      "# Tables",
      "<!-- Made from the code by `npm run reference`. -->",
      `${contents}.`,
      ...sections.flatMap(([title, text]) => [`## ${title}`, text]),
    ].join("\n\n") + "\n"
  );
}

function errorSection() {
  const headings = errorHeadings();
  const row = (code, who) => {
    const status = statusOf[code];
    return [
      `[\`${code}\`](../errors.md#${code})`,
      who,
      status === undefined ? "500" : String(status),
      headings.get(code) ?? "",
    ];
  };
  return [
    "Codes do not change between versions. The status is that of an answer of a [server](../guide/server.md). Errors of tool steps\n(`StepError`) are in [a table of their own](../errors.md#errors-of-tool-steps).",
    table(
      ["code", "of", "status", "what happened"],
      [...errorCodes.map((code) => row(code, "Pawl")), ...serverCodes.map((code) => row(code, "server"))],
    ),
  ].join("\n\n");
}

/** The first sentence below each heading of docs/errors.md. */
function errorHeadings() {
  const text = readFileSync("docs/errors.md", "utf8").replace(/([^\n])\n(?=[^\n])/g, "$1 ");
  return new Map(
    [...text.matchAll(/^## (\w+)\n\n([\s\S]*?)(?=\n\n|$)/gm)].map(([, code, paragraph]) => [
      code,
      firstSentence(paragraph),
    ]),
  );
}

function firstSentence(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return (/^(?:`[^`]*`|[^`])*?[.:](?=\s|$)/.exec(line)?.[0] ?? line)
    .replace(/:$/, ".")
    .replace(/\]\(guide\//g, "](../guide/");
}

function limitSection(pages, linkTo) {
  const members = symbolOf(pages, "RunLimits").members;
  return [
    `${linkTo("Limits")} of \`createAgent\` and of a run. [The guide](../guide/limits.md) explains them.`,
    table(
      ["limit", "default", "what it bounds"],
      members.map(({ name, doc }) => [`\`${name}\``, defaultOf(name, doc.text), withoutDefault(doc.text)]),
    ),
  ].join("\n\n");
}

function defaultOf(name, text) {
  const value = defaultLimits[name];
  if (value !== undefined) return `\`${JSON.stringify(value)}\``;
  const [, told] = /Default:? ([^.]+)\./.exec(text) ?? [];
  if (told !== undefined) return `\`${told}\``;
  return /\(the default\)/.test(text) ? "see there" : "no limit";
}

function withoutDefault(text) {
  return oneLine(text.replace(/ ?Default:? [^.]+\./, "").replace(/ ?Not limited unless\s+set\./, ""));
}

function serverLimitSection(pages, linkTo) {
  return [
    `${linkTo("ServerLimits")} of \`createServer\`. [The guide](../guide/server.md) explains them.`,
    table(
      ["limit", "what it bounds, and its default"],
      symbolOf(pages, "ServerLimits").members.map(({ name, doc }) => [`\`${name}\``, oneLine(doc.text)]),
    ),
  ].join("\n\n");
}

/** Types that hold what a program hands over, whose names do not end in "Options". */
const optionTypes = [
  "Callbacks",
  "Fallback",
  "Handoff",
  "Hint",
  "Hook",
  "ContextSource",
  "Observer",
  "Plugin",
  "Question",
  "Tool",
];

function optionSection(pages, linkTo) {
  const types = pages
    .flatMap(({ symbols }) => symbols)
    .filter(({ name, kind }) => kind === "type" && (name.endsWith("Options") || optionTypes.includes(name)))
    .sort((a, b) => a.name.localeCompare(b.name, "en"));
  return [
    "The fields of each object of options. An unknown field is refused, and the message says which one is near.",
    table(
      ["options", "fields"],
      types.map((type) => [linkTo(type.name), type.members.flatMap(fieldsOf).join(", ")]),
    ),
  ].join("\n\n");
}

function fieldsOf(member) {
  if (member.kind === "variant") return member.members.flatMap(fieldsOf);
  return member.kind === "all" ? [`all of \`${member.title}\``] : [`\`${member.name}\``];
}

function variableSection() {
  return [
    "The command line reads them, and the entry points of the package where it says so. An empty variable counts as not set.",
    table(
      ["variable", "what it says"],
      Object.entries(variableTexts).map(([name, text]) => [`\`${name}\``, text]),
    ),
  ].join("\n\n");
}

function providerSection() {
  const code = (value) => (value === undefined ? "" : `\`${value}\``);
  return [
    "What a model name `provider/model` begins with, the package that is needed, and the variables that have the key and the address.",
    table(
      ["provider", "package", "key", "address", "address unless set"],
      knownProviders.map(({ name, packageName, key, address, defaultAddress }) =>
        [name, packageName, key, address, defaultAddress].map(code),
      ),
    ),
  ].join("\n\n");
}

function fileSection() {
  return [
    "*Home* is the folder of `PAWL_HOME`. *Configuration* is `$XDG_CONFIG_HOME/pawl`, or `~/.config/pawl`. *Folder* is where an agent works.",
    table(
      ["file", "where", "what it is"],
      Object.values(fileTexts).map(({ file, where, text }) => [`\`${file}\``, where, text]),
    ),
  ].join("\n\n");
}

function exitCodeSection() {
  const reasonsOf = (code) =>
    Object.entries(reasons)
      .filter(([, { exitCode }]) => exitCode === code)
      .map(([reason]) => `\`${reason}\``)
      .join(", ");
  return [
    "Of the commands that run an agent. [Outcomes](../guide/outcomes.md) explains the reasons.",
    table(
      ["exit code", "what it says", "reasons of the run"],
      Object.entries(exitCodes).map(([name, code]) => [String(code), exitCodeTexts[name] ?? "", reasonsOf(code)]),
    ),
  ].join("\n\n");
}

function symbolOf(pages, name) {
  return pages.flatMap(({ symbols, others }) => [...symbols, ...others]).find((symbol) => symbol.name === name);
}

/** Names of variables as the code reads them: members of the environment, and texts that look like one. */
function variablesInCode() {
  const names = new Set();
  for (const { text } of sources()) {
    for (const [, name] of text.matchAll(/\b(?:process\.env|environment|env)\??\.([A-Z][A-Z0-9_]+)\b/g))
      names.add(name);
    for (const [, pattern] of text.matchAll(
      /\{([^{}]*)\}(?:: (?:Provider)?Environment\b| = (?:environment|process\.env)\b)/g,
    ))
      for (const [name] of pattern.matchAll(/\b[A-Z][A-Z0-9_]{3,}\b/g)) names.add(name);
    for (const [, name] of text.matchAll(/"(PAWL_[A-Z_]+|[A-Z]+(?:_[A-Z]+)*_(?:API_KEY|BASE_URL))"/g)) names.add(name);
  }
  return [...names].filter((name) => !notVariables.includes(name));
}

function providerVariables() {
  return knownProviders.flatMap(({ key, address }) => [key, address]).filter((name) => name !== undefined);
}

/** Names of files as the code has them. */
function filesInCode() {
  const names = new Set();
  for (const { file, text } of sources()) {
    if (file.startsWith("src/testing")) continue;
    for (const [, name] of text.matchAll(/"([\w.-]+\.(?:db|json|md)|(?:\.\w+\/)skills|server-secret)"/g))
      names.add(name);
  }
  return [...names].filter((name) => !notFiles.includes(name));
}

function sources() {
  return readdirSync("src", { recursive: true })
    .filter((file) => file.endsWith(".ts") && !file.startsWith("inspector"))
    .map((file) => join("src", file))
    .map((file) => ({ file, text: readFileSync(file, "utf8") }));
}

function differences(what, inCode, told) {
  return [
    ...inCode
      .filter((name) => !told.includes(name))
      .map((name) => `The ${what} ${name} has no text in scripts/reference/table-texts.mjs.`),
    ...told
      .filter((name) => !inCode.includes(name))
      .map((name) => `scripts/reference/table-texts.mjs tells of the ${what} ${name}, which the code does not have.`),
  ];
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").trim();
}
