/**
 * Reads the project's Markdown pages: their titles, links and anchors.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The pages in a folder, as paths. */
export function markdownIn(folder, { recursive = true } = {}) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      // Installed packages are no pages. One of them may be a link to this project, which would lead round and round.
      if (entry.isDirectory()) return recursive && entry.name !== "node_modules" ? markdownIn(path) : [];
      return entry.isFile() && entry.name.endsWith(".md") ? [path] : [];
    })
    .sort();
}

/** The heading of the first level. */
export function titleOf(text) {
  return plainText(/^# (.+)$/m.exec(withoutFences(text))?.[1] ?? "");
}

/** What a page links to and shows: `{ target, title, isPicture }`, in order. */
export function linksOf(text) {
  const prose = withoutCode(text);
  const inline = [...prose.matchAll(/(!?\[[^\]]*)?\]\(\s*<?([^)\s>]+)>?(?:\s+"([^"]*)")?\s*\)/g)];
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)];
  const tags = [...prose.matchAll(/<(img|source|a)\b[^>]*?\b(?:src|srcset|href)="([^"]+)"/g)];
  return [
    ...inline.map(([, opening, target, title]) => ({ target, title, isPicture: opening?.startsWith("!") ?? false })),
    ...references.map(([, target]) => ({ target, title: undefined, isPicture: false })),
    ...tags.map(([, tag, target]) => ({ target, title: undefined, isPicture: tag !== "a" })),
  ];
}

/** Whether a link leads out of the project: to another site, or to an address of mail. */
export function isForeign(target) {
  return /^[a-z][a-z0-9+.-]*:/i.test(target);
}

/** The anchors of a page's headings, as code hosts build them. */
export function anchorsOf(text) {
  const anchors = new Set();
  for (const [, heading] of withoutFences(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const base = slugOf(plainText(heading));
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The anchor of a heading that has this text and comes first with it. */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

/** The text of a line without the marks of its links. */
function plainText(line) {
  return line.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}

export function withoutFences(text) {
  return text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
}

export function withoutCode(text) {
  return withoutFences(text).replace(/`[^`\n]*`/g, "");
}
