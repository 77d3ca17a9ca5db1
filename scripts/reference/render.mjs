/** Writes what `declarations.mjs` has read as Markdown: one page for each entry point, and an index of them. */
import { sharedFields } from "./shared-fields.mjs";

export const notice = "<!-- Made from the declarations by `npm run reference`. Change the comments in src instead. -->";

const groups = [
  { kind: "function", title: "Functions" },
  { kind: "class", title: "Classes" },
  { kind: "constant", title: "Constants" },
  { kind: "type", title: "Types" },
];

/** Links places from a page. Places have their anchors: `placeAnchors`. */
function linkOf(from) {
  return ({ name, page, anchor }) => `[\`${name}\`](${page === from ? "" : page}#${anchor})`;
}

/** Links exported names from a page. The first entry point that has the name is meant. */
export function linkFrom(from, places) {
  const named = [...places.values()];
  return (name) => linkOf(from)(named.find((place) => place.name === name));
}

/** The page of an entry point. */
export function pageOf(page, places) {
  const anchors = anchorsOf(page);
  const link = linkOf(page.page);
  const linkTo = (place) => link({ ...place, anchor: place.anchor ?? anchors.get(place.name) });
  const sections = [
    ...groups.map(({ kind, title }) => ({ title, symbols: page.symbols.filter((one) => one.kind === kind) })),
    { title: "Types without an exported name", symbols: page.others },
  ].filter(({ symbols }) => symbols.length > 0);
  return (
    [
      `# ${page.name}`,
      notice,
      escaped(page.doc),
      ...sections.map(
        ({ title, symbols }) => `${title}: ${symbols.map(({ name }) => linkTo({ page: page.page, name })).join(", ")}.`,
      ),
      ...(page.elsewhere.length === 0
        ? []
        : [`Also exported here: ${page.elsewhere.map(({ place }) => linkTo(place)).join(", ")}.`]),
      ...sections.flatMap(({ title, symbols }) => [
        `## ${title}`,
        ...symbols.flatMap((symbol) => symbolSection(symbol, { places, linkTo })),
      ]),
    ].join("\n\n") + "\n"
  );
}

function symbolSection(symbol, { places, linkTo }) {
  const names = symbol.names
    .map((one) => places.get(one))
    .filter((place) => place !== undefined && place.name !== symbol.name)
    .sort((a, b) => a.name.localeCompare(b.name, "en"));
  return [
    `### ${symbol.name}`,
    ...(symbol.signature === "" ? [] : [`\`\`\`typescript\n${symbol.signature}\n\`\`\``]),
    ...docBlocks(symbol.doc),
    ...(symbol.members.length === 0 ? [] : [symbol.members.map((member) => memberItem(member, "")).join("\n")]),
    ...[...symbol.examples, ...symbol.members.flatMap(({ doc }) => doc.examples)].map(
      (code) => `\`\`\`ts\n${code}\n\`\`\``,
    ),
    ...(names.length === 0 ? [] : [`Types: ${[...new Set(names.map(linkTo))].join(", ")}.`]),
  ];
}

function docBlocks({ text, parameters, returns, throws }) {
  const items = [
    ...parameters.map((one) => `- \`${one.name}\`: ${escaped(oneLine(one.text))}`),
    ...(returns === "" ? [] : [`- Returns ${escaped(oneLine(returns))}`]),
    ...throws.map((one) => `- Throws ${escaped(oneLine(one))}`),
  ];
  return [...(text === "" ? [] : [escaped(text)]), ...(items.length === 0 ? [] : [items.join("\n")])];
}

/** Lines of a list: the member, and what is within it. */
function memberItem(member, indent) {
  const title = member.kind === "all" ? `all of \`${member.title}\`` : `\`${member.title}\``;
  const text = sentenceOf(member);
  const head = `${indent}- ${title}${text === "" ? "" : `: ${escaped(text)}`}`;
  return [head, ...member.members.filter(isTold).map((one) => memberItem(one, `${indent}  `))].join("\n");
}

/** The literal that tells a variant from the others stands in the variant's title. */
function isTold(member) {
  return member.kind !== "literal";
}

/** What is told of a member, by its own comment or by that of fields that mean the same everywhere. */
export function sentenceOf({ name, kind, doc }) {
  const own = oneLine(
    [doc.text, doc.returns === "" ? "" : `Returns ${doc.returns}.`, ...doc.throws.map((one) => `Throws ${one}.`)].join(
      " ",
    ),
  );
  return own === "" && kind === "member" ? (sharedFields[name] ?? "") : own;
}

/** The index of the reference. */
export function indexOf(pages) {
  const rows = pages.map(
    ({ name, page, doc }) => `| [\`${name}\`](${page}) | ${escaped(oneLine(firstSentence(doc)))} |`,
  );
  return (
    [
      "# Reference",
      notice,
      "One page for each entry point of the package, and tables of what holds everywhere. The [guide](../guide/concepts.md) explains how\nthe parts belong together.",
      ["| entry point | what it has |", "|---|---|", ...rows].join("\n"),
      "[Tables](tables.md) have every error code, limit, option, environment variable, file and exit code.\n[Events, deltas and items](../guide/events.md) are those of a stream.",
      "A member without `?` is always there. All members are read-only. Times are milliseconds, and points in time are milliseconds since\n1970 (epoch milliseconds), unless a member says something else.",
    ].join("\n\n") + "\n"
  );
}

function firstSentence(text) {
  return /^[\s\S]*?\.(?=\s|$)/.exec(text)?.[0] ?? text;
}

/** The anchors of a page's headings, in their order: a name that comes again is numbered. */
function anchorsOf(page) {
  const seen = new Map();
  const anchors = new Map();
  for (const heading of headingsOf(page)) {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    if (!anchors.has(heading)) anchors.set(heading, count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

function headingsOf(page) {
  const named = groups.flatMap(({ kind, title }) => {
    const symbols = page.symbols.filter((one) => one.kind === kind);
    return symbols.length === 0 ? [] : [title, ...symbols.map(({ name }) => name)];
  });
  const others =
    page.others.length === 0 ? [] : ["Types without an exported name", ...page.others.map(({ name }) => name)];
  return [page.name, ...named, ...others];
}

/** Gives each place its anchor, once all pages are read. */
export function placeAnchors(pages, places) {
  const anchors = new Map(pages.map((page) => [page.page, anchorsOf(page)]));
  for (const place of places.values()) place.anchor = anchors.get(place.page).get(place.name);
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").trim();
}

/** Angle brackets and braces outside of code would be taken for HTML or for a template. */
function escaped(text) {
  return text
    .split(/(^```[\s\S]*?^```|`[^`]*`)/m)
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;")))
    .join("");
}
