/**
 * Counts sentences that are too long, and words that a reader must guess, in pages, docstrings and messages.
 *
 *     npm run prose                       the counts; fails above the ceilings below
 *     npm run prose -- --list             each of them, with its place
 *     npm run prose -- --root FOLDER      of another checkout, without ceilings
 *
 * What counts as text: in Markdown, everything but code, tables of figures included; in src, the text of docstrings, and string literals
 * that are sentences. Code in a text counts as one word.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import ts from "typescript";
import { markdownIn } from "./pages.mjs";

const maxWords = 35;

/** Long sentences in a thousand, and words to be guessed in ten thousand: what is allowed. */
const ceilings = {
  pages: { long: 12, words: 4 },
  docstrings: { long: 5, words: 1.5 },
  messages: { long: 5, words: 2 },
};

/** Old-fashioned words, words of ours that a reader cannot know, and words that say nothing. */
const unclear = [
  ...[
    "anew",
    "befell",
    "befalls?",
    "forthwith",
    "hence",
    "henceforth",
    "herein",
    "heretofore",
    "hitherto",
    "inasmuch",
    "lest",
  ],
  ...[
    "notwithstanding",
    "shall",
    "thence",
    "thereby",
    "therein",
    "thereof",
    "thus",
    "upon",
    "whence",
    "whereas",
    "whereby",
  ],
  ...["wherein", "whereupon", "whoever", "whomever", "whosoever", "in vain", "but for", "save for", "in good order"],
  ...["all the same", "by and by", "is to be had", "it is for \\w+ to"],
  ...["mend(?:s|ed|ing)?", "slips?", "twins?", "rigs?", "the house", "sly", "gone by"],
  ...[
    "seamless(?:ly)?",
    "leverag(?:e|es|ing)",
    "utili[sz]e[sd]?",
    "facilitates?",
    "blazing(?:ly)?",
    "effortless(?:ly)?",
    "obviously",
  ],
];
const unclearWords = new RegExp(`(?<![\\p{L}-])(?:${unclear.join("|")})(?![\\p{L}-])`, "giu");

const { values: options } = parseArgs({
  options: { root: { type: "string", default: "." }, list: { type: "boolean" } },
});
const root = resolve(options.root);
const kinds = { pages: pageTexts(), docstrings: [], messages: [] };
for (const file of sourceFiles()) readSource(file);

let tooMany = 0;
for (const [kind, texts] of Object.entries(kinds)) {
  const sentences = texts.flatMap(({ place, text }) => sentencesOf(text).map((sentence) => ({ place, sentence })));
  const long = sentences.filter(({ sentence }) => wordsIn(sentence) > maxWords);
  const words = sentences.flatMap(({ place, sentence }) =>
    [...sentence.matchAll(unclearWords)].map(([word]) => ({ place, sentence: `${word.toLowerCase()}: ${sentence}` })),
  );
  const allWords = sentences.reduce((sum, { sentence }) => sum + wordsIn(sentence), 0);
  const shares = { long: share(long.length, sentences.length, 1_000), words: share(words.length, allWords, 10_000) };
  console.log(
    `${kind.padEnd(11)} ${sentences.length} sentences, ${allWords} words: ${long.length} sentences over ${maxWords} words (${shares.long} in 1,000), ${words.length} unclear words (${shares.words} in 10,000)`,
  );
  if (options.list) for (const { place, sentence } of [...long, ...words]) console.log(`  ${place}: ${sentence}`);
  if (options.root !== ".") continue;
  for (const [what, ceiling] of Object.entries(ceilings[kind])) {
    if (shares[what] <= ceiling) continue;
    tooMany++;
    console.error(
      `${kind}: ${shares[what]} is above the ceiling of ${ceiling} (${what}). Find them with: npm run prose -- --list`,
    );
  }
}
process.exitCode = tooMany > 0 ? 1 : 0;

function share(count, of, per) {
  return of === 0 ? 0 : Math.round((count / of) * per * 10) / 10;
}

/** The paragraphs, items, headings and cells of all pages. */
function pageTexts() {
  const before = process.cwd();
  process.chdir(root);
  try {
    const pages = [
      ...markdownIn(".", { recursive: false }),
      ...["docs", "examples"].flatMap((folder) => markdownIn(folder)),
    ];
    return pages.flatMap((page) => paragraphsOf(readFileSync(page, "utf8")).map((text) => ({ place: page, text })));
  } finally {
    process.chdir(before);
  }
}

function paragraphsOf(markdown) {
  return markdown
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/^(```|~~~)[\s\S]*?^\1/gm, "\n")
    .replace(/^\|.*\|$/gm, (row) => row.split(/(?<!\\)\|/).join("\n\n"))
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|^#+ .*$/m)
    .map(plain)
    .filter((text) => /\p{L}/u.test(text));
}

/** Text without marks. Code becomes one word. */
function plain(text) {
  return text
    .replace(/`[^`]*`/g, "code")
    .replace(/\{@\w+ [^}]*\}/g, "code")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<https?:[^>]*>|https?:\S+/g, "code")
    .replace(/<br>/g, ". ")
    .replace(/[*_#>]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

function sentencesOf(text) {
  return text.split(/(?<=[.!?]["')]?)\s+(?=["'(]?[\p{Lu}\d]|code\b)/u).filter((sentence) => wordsIn(sentence) > 0);
}

function wordsIn(sentence) {
  return sentence.match(/[\p{L}\p{N}][\p{L}\p{N}'’.,-]*/gu)?.length ?? 0;
}

function sourceFiles() {
  const folder = join(root, "src");
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true }).filter((file) => /(?<!\.d)\.tsx?$/.test(file));
}

/** Notes the docstrings and the messages of a file. */
function readSource(file) {
  const text = readFileSync(join(root, "src", file), "utf8");
  const place = `src/${file}`;
  for (const [, comment] of text.matchAll(/^[ \t]*\/\*\*([\s\S]*?)\*\//gm)) {
    const lines = comment.replace(/^\s*\* ?/gm, "").replace(/^@(\w+)( \w+)?/gm, "\n\n");
    for (const paragraph of paragraphsOf(lines)) kinds.docstrings.push({ place, text: paragraph });
  }
  const source = ts.createSourceFile(
    file,
    text,
    ts.ScriptTarget.Latest,
    false,
    file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    const message = messageOf(node);
    if (message !== undefined) {
      if (isMessage(message)) kinds.messages.push({ place, text: plain(message) });
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}

/** The text of a literal; what is put into a template counts as one word. */
function messageOf(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => `code${literal.text}`)].join("");
}

/** A sentence, and no statement of SQL, markup or style. */
function isMessage(text) {
  return (
    /^["'(]?\p{Lu}\p{Ll}*.* .* .*/su.test(text) &&
    !/^(CASE|DO|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WITH|PRAGMA|BEGIN|DROP|GRANT)\b/.test(text) &&
    !text.includes("</")
  );
}
