/**
 * Checks the links in the project's pages: a relative link must lead to an existing file, and to a heading in it.
 *
 * Some pages, and all pictures, are only in the repository: `files` of package.json leaves them out of the package. Nothing is linked by
 * an address of the repository. So a link from a page in the package to one that is not has the title "only in the repository":
 *
 *     [Performance](../performance.md "only in the repository")
 *
 * In the repository this script holds these titles to the package. In an installed package such links may lead to nothing.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { anchorsOf, isForeign, linksOf, markdownIn } from "./pages.mjs";

const mark = "only in the repository";
const isInstalled = !existsSync("src");
const packed = isInstalled ? new Set() : packedFiles();

const pages = [
  ...markdownIn(".", { recursive: false }),
  ...["docs", "examples", "bench"].flatMap((folder) => markdownIn(folder)),
];
const broken = pages.flatMap((page) =>
  linksOf(readFileSync(page, "utf8"))
    .filter(({ target }) => !isForeign(target))
    .flatMap((link) => problemOf(page, link) ?? []),
);
for (const problem of broken) console.error(problem);
console.log(`${pages.length} pages, ${broken.length} broken links.`);
process.exitCode = broken.length > 0 ? 1 : 0;

function problemOf(page, { target, title, isPicture }) {
  const [path, anchor] = target.split("#", 2);
  const file = path === "" ? page : relative(".", resolve(dirname(page), decodeURIComponent(path)));
  if (!existsSync(file)) {
    if (isInstalled && (isPicture || title === mark)) return undefined;
    return `${page}: ${target} leads to a file that does not exist`;
  }
  if (!isInstalled && !isPicture && packed.has(page)) {
    if (!isPacked(file) && title !== mark)
      return `${page}: ${target} is not in the package. Give the link a title: (${target} "${mark}")`;
    if (isPacked(file) && title === mark) return `${page}: ${target} is in the package: the link needs no title`;
  }
  if (anchor === undefined || anchor === "" || statSync(file).isDirectory() || !file.endsWith(".md")) return undefined;
  if (anchorsOf(readFileSync(file, "utf8")).has(anchor)) return undefined;
  return `${page}: ${target}: ${file} has no such heading`;
}

function isPacked(file) {
  return packed.has(file) || [...packed].some((other) => other.startsWith(`${file}/`));
}

/** What npm puts into the package. */
function packedFiles() {
  const listing = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error"], {
    encoding: "utf8",
  });
  return new Set(JSON.parse(listing)[0].files.map(({ path }) => path));
}
