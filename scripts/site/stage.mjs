/**
 * Lays out the pages of the site in a folder, as the generator wants them.
 *
 * A page keeps its path in the project, so that relative links stay as they are. Three things change:
 *
 * 1. README.md becomes index.md. The README of the project becomes the first page, below what scripts/site/home.md says.
 * 2. A link to a file that is no page (an example, a test) leads to a page that shows this file, with the colors of its language. A link
 *    to a folder leads to the README in it; without one, only the text of the link stays.
 * 3. Braces that the generator would take for its own are escaped.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, posix, relative } from "node:path";
import { isForeign, markdownIn } from "../pages.mjs";
import { navigationOf } from "./navigation.mjs";

/** Larger files are for programs: the site gives them as they are. */
const mostBytesOfPage = 60_000;
const languages = {
  ".ts": "ts",
  ".tsx": "tsx",
  ".mjs": "js",
  ".js": "js",
  ".json": "json",
  ".yaml": "yaml",
  ".yml": "yaml",
  ".sh": "sh",
};

/** @returns the number of pages */
export function stage(target) {
  const pages = [
    ...markdownIn(".", { recursive: false }),
    ...markdownIn("docs"),
    "test/README.md",
    ...markdownIn("examples").filter((page) => /^examples\/([^/]+\/)?README\.md$/.test(page)),
  ];
  const files = new Set();
  for (const page of pages) {
    const text = readFileSync(page, "utf8");
    const whole = page === "README.md" ? homeOf(text) : text;
    write(
      join(target, stagedName(page)),
      escapeBraces(eachProse(whole, (prose) => withLinks(prose, page, pages, files))),
    );
  }
  for (const file of files) addFile(target, file);
  write(join(target, "navigation.json"), JSON.stringify(navigationOf(pages, stagedName)));
  return pages.length + files.size;
}

function stagedName(page) {
  return page.replace(/(^|\/)README\.md$/, "$1index.md");
}

/** The first page: its own head, and the README from below its first paragraph on. */
function homeOf(readme) {
  const [, sentence, rest] = /^# .+\n\n([\s\S]+?)\n\n([\s\S]+)$/.exec(readme);
  const head = readFileSync("scripts/site/home.md", "utf8");
  return `${head.replace("SENTENCE", JSON.stringify(sentence.replaceAll("\n", " ").replace(/ \(.*\)$/, "")))}\n${rest}`;
}

/** Changes what is not in fences of code. */
function eachProse(text, change) {
  return text
    .split(/^((?:```|~~~)[\s\S]*?^(?:```|~~~)$)/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join("");
}

function withLinks(prose, page, pages, files) {
  return prose.replace(
    /(!?)\[((?:[^[\]]|\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g,
    (whole, mark, text, link) => {
      if (isForeign(link) || link.startsWith("#")) return whole;
      const [path, anchor] = link.split("#", 2);
      const file = posix.normalize(posix.join(posix.dirname(page), decodeURIComponent(path)));
      const found = targetOf(file, pages, files);
      if (found === undefined) return text;
      const relativeLink = relative(dirname(stagedName(page)), found);
      return `${mark}[${text}](${relativeLink.startsWith(".") ? "" : "./"}${relativeLink}${anchor === undefined ? "" : `#${anchor}`})`;
    },
  );
}

/** The staged path that a link to a file leads to. Notes the files that it needs. */
function targetOf(file, pages, files) {
  if (pages.includes(file)) return stagedName(file);
  const readme = join(file, "README.md");
  if (pages.includes(readme)) return stagedName(readme);
  if (!existsSync(file) || statSync(file).isDirectory()) return undefined;
  files.add(file);
  return isShown(file) ? `${file}.md` : file;
}

function isPicture(file) {
  return /\.(png|svg|webp)$/.test(file);
}

/** Whether a file gets a page that shows it. */
function isShown(file) {
  return !isPicture(file) && statSync(file).size <= mostBytesOfPage;
}

function addFile(target, file) {
  if (!isShown(file)) {
    const copy = isPicture(file) ? join(target, file) : join(target, "public", file);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
    return;
  }
  const language = languages[extname(file)] ?? "txt";
  const code = readFileSync(file, "utf8").trimEnd();
  const head = `---\ntitle: ${JSON.stringify(basename(file))}\nsearch: false\naside: false\n---\n`;
  write(
    join(target, `${file}.md`),
    `${head}\n# ${basename(file)}\n\n\`${file}\`\n\n\`\`\`\`${language}\n${code}\n\`\`\`\`\n`,
  );
}

function escapeBraces(text) {
  return eachProse(text, (prose) => prose.replaceAll("{{", "&#123;&#123;"));
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
