/**
 * The navigation of the site, from the folders and the titles of the pages: a page appears when its file does.
 *
 * The guide has the order and the headings of its index. Other folders go by the order of the links on their first page, if they have
 * one, and then by name.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { linksOf, titleOf } from "../pages.mjs";

/** The parts below the guide. A folder stands for the pages in it that no other part names. */
const parts = [
  { text: "Reference", from: ["docs/reference", "docs/errors.md", "docs/log-format.md"] },
  { text: "Recipes", from: ["docs/recipes"] },
  { text: "Examples", from: ["examples"] },
  { text: "Moving to Pawl", from: ["docs/moving", "docs/comparison.md", "docs/terminals.md", "docs/faq.md"] },
  {
    text: "Reliability",
    from: ["docs/reliability.md", "docs/model-failures.md", "docs/bad-input.md", "docs/compaction.md"],
  },
  { text: "Performance", from: ["docs/performance.md", "docs/performance"] },
  { text: "Internals", from: ["docs/architecture.md", "CONTRIBUTING.md", "test", "docs", "docs/inspector"] },
  { text: "Decisions", from: ["docs/decisions"] },
  { text: "Project", from: ["CHANGELOG.md", "SECURITY.md", "THIRD_PARTY.md"] },
];
const guide = "docs/guide";
/** The parts in the bar at the top, besides the guide. */
const atTheTop = ["Reference", "Recipes", "Examples", "Moving to Pawl"];

/** @returns `{ bar, side }`, as the generator's default theme takes them */
export function navigationOf(pages, stagedName) {
  const entry = (page) => ({ text: titleOf(readFileSync(page, "utf8")), link: linkTo(stagedName(page)) });
  const taken = new Set(parts.flatMap(({ from }) => from));
  const groups = parts
    .map(({ text, from }) => ({ text, pages: from.flatMap((name) => pagesOf(name, pages, taken)) }))
    .filter((group) => group.pages.length > 0);
  const side = [
    ...guideGroups(pages).map((group) => ({ text: group.text, collapsed: true, items: group.pages.map(entry) })),
    ...groups.map((group) => ({ text: group.text, collapsed: true, items: group.pages.map(entry) })),
  ];
  const bar = [
    { text: "Guide", link: linkTo(`${guide}/index.md`), activeMatch: "^/docs/guide/" },
    ...groups
      .filter(({ text }) => atTheTop.includes(text))
      .map((group) => ({ text: group.text, link: linkTo(stagedName(group.pages[0])) })),
  ];
  return { bar, side };
}

/** The headings of the guide's index with the pages below each, and the pages that it does not name. */
function guideGroups(pages) {
  const index = join(guide, "index.md");
  const [, ...sections] = readFileSync(index, "utf8").split(/^## /m);
  const named = sections.map((section) => ({
    text: section.slice(0, section.indexOf("\n")),
    pages: pagesLinkedFrom(section.replace(/^\*\*Next:[\s\S]*/m, ""), guide, pages),
  }));
  named[0]?.pages.unshift(index);
  const known = new Set(named.flatMap((group) => group.pages));
  const others = pages.filter((page) => dirname(page) === guide && !known.has(page));
  return others.length === 0 ? named : [...named, { text: "More", pages: others }];
}

function pagesOf(name, pages, taken) {
  if (name.endsWith(".md")) return pages.filter((page) => page === name);
  const isFirst = (page) => /^(index|README)\.md$/.test(basename(page));
  const within = pages.filter((page) => dirname(page) === name && !taken.has(page));
  const below = pages.filter(
    (page) => dirname(dirname(page)) === name && isFirst(page) && !taken.has(dirname(page)) && dirname(page) !== guide,
  );
  const first = within.filter(isFirst);
  const ordered = first.flatMap((page) => pagesLinkedFrom(readFileSync(page, "utf8"), name, pages));
  const all = [...within, ...below];
  return [...new Set([...first, ...ordered.filter((page) => all.includes(page)), ...all])];
}

function pagesLinkedFrom(text, folder, pages) {
  const targets = linksOf(text).map(({ target }) => posix.join(folder, target.split("#")[0]));
  return [...new Set(targets.filter((page) => pages.includes(page) && existsSync(page)))];
}

function linkTo(staged) {
  return `/${staged.replace(/index\.md$/, "").replace(/\.md$/, ".html")}`;
}
