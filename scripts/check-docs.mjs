/** Checks the links in the project's pages: a relative link must lead to an existing file, and to a heading in it. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const pages = [
  ...markdownIn(".", { recursive: false }),
  ...["docs", "examples", "bench"].flatMap((folder) => markdownIn(folder)),
];
const broken = pages.flatMap((page) =>
  linksOf(page)
    .filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link))
    .flatMap((link) => problemOf(page, link) ?? []),
);
for (const problem of broken) console.error(problem);
console.log(`${pages.length} pages, ${broken.length} broken links.`);
process.exitCode = broken.length > 0 ? 1 : 0;

function markdownIn(folder, { recursive = true } = {}) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive })
    .filter((file) => file.endsWith(".md") && !file.includes("node_modules"))
    .map((file) => join(folder, file));
}

function linksOf(page) {
  const text = withoutCode(readFileSync(page, "utf8"));
  const inline = [...text.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
  const references = [...text.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)];
  return [...inline, ...references].map((match) => match[1]);
}

function problemOf(page, link) {
  const [path, anchor] = link.split("#", 2);
  const target = path === "" ? page : resolve(dirname(page), decodeURIComponent(path));
  if (!existsSync(target)) return `${page}: ${link} leads to a file that does not exist`;
  if (anchor === undefined || anchor === "" || statSync(target).isDirectory() || !target.endsWith(".md"))
    return undefined;
  if (headingsOf(target).has(anchor)) return undefined;
  return `${page}: ${link}: ${relative(".", target)} has no such heading`;
}

/** The anchors of a page's headings, as code hosts build them. */
function headingsOf(page) {
  const anchors = new Set();
  for (const [, heading] of withoutFences(readFileSync(page, "utf8")).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const base = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

function withoutFences(text) {
  return text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
}

function withoutCode(text) {
  return withoutFences(text).replace(/`[^`\n]*`/g, "");
}
