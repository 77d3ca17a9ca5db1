/**
 * The pages of other programs that ours cite, as far as a pinned package brings them: each must be there, with its heading.
 *
 * `ai` brings the pages of ai-sdk.dev/docs, `@mastra/core` those of mastra.ai. Other pages can only be read by a person.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { anchorsOf } from "../pages.mjs";

const address = /https:\/\/(ai-sdk\.dev|mastra\.ai)\/((?:docs|reference)\/[^)\s>"#]+)(?:#([^)\s>"]+))?/g;
/** A page that Mastra's own pages lead to, and that its package does not bring. */
const elsewhere = new Set(["reference/deployer/cloudflare"]);

/** @returns how many citations were looked up, and what is wrong with them */
export function citedIn(pages, modules) {
  const fileOf = { "ai-sdk.dev": aiSdkPages(join(modules, "ai/docs")), "mastra.ai": mastraPages(modules) };
  const found = pages.flatMap((page) =>
    [...readFileSync(page, "utf8").matchAll(address)]
      .filter(([, , path]) => !elsewhere.has(path))
      .map(([url, host, path, anchor]) => problemOf({ page, url, anchor, file: fileOf[host](path) })),
  );
  return { count: found.length, problems: found.filter((problem) => problem !== null) };
}

function problemOf({ page, url, anchor, file }) {
  if (file === undefined || !existsSync(file)) return `${page}: ${url} is not among the pages of the pinned version`;
  if (anchor === undefined || anchorsOf(readFileSync(file, "utf8")).has(anchor)) return null;
  return `${page}: ${url}: the page of the pinned version has no such heading`;
}

/** The names of files and folders begin with numbers for their order. */
function aiSdkPages(docs) {
  const files = readdirSync(docs, { recursive: true }).filter((name) => name.endsWith(".mdx"));
  const named = new Map(
    files.map((name) => [
      `docs/${name.replace(/(^|\/)\d+-/g, "$1").replace(/(\/index)?\.mdx$/, "")}`,
      join(docs, name),
    ]),
  );
  return (path) => named.get(path);
}

function mastraPages(modules) {
  const folder = join(modules, "@mastra/core/dist/docs/references");
  return (path) =>
    [path, `${path}/overview`].map((name) => join(folder, `${name.replaceAll("/", "-")}.md`)).find(existsSync);
}
