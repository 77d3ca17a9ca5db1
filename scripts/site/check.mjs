/**
 * Checks a built site: each link leads to a page and an anchor of it, and nothing is loaded from another origin.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** @returns what is wrong, a line each */
export function problemsOf(site) {
  const files = readdirSync(site, { recursive: true }).map((file) => join(site, file));
  const pages = files.filter((file) => file.endsWith(".html"));
  const styles = files.filter((file) => file.endsWith(".css"));
  const anchors = new Map();
  const anchorsIn = (page) => {
    if (!anchors.has(page)) anchors.set(page, new Set(matches(readFileSync(page, "utf8"), /\sid="([^"]+)"/g)));
    return anchors.get(page);
  };
  return [
    ...(pages.length === 0 ? ["The site has no pages."] : []),
    ...pages.flatMap((page) => problemsOfPage(site, page, anchorsIn)),
    ...styles.flatMap((file) => foreignOf(site, file, /(?:@import\s+|url\()\s*["']?((?:https?:)?\/\/[^"')\s]+)/g)),
  ];
}

function problemsOfPage(site, page, anchorsIn) {
  const html = readFileSync(page, "utf8");
  const links = new Set(matches(html, /<a\b[^>]*\shref="([^"]*)"/g));
  const broken = [...links].flatMap((link) => problemOfLink(site, page, link, anchorsIn) ?? []);
  const lost = [...new Set(matches(html, /<(?:img|script|source)\b[^>]*\ssrc(?:set)?="([^"]+)"/g))]
    .filter((source) => source.startsWith("/") && !existsSync(join(site, source)))
    .map((source) => `${relative(site, page)}: ${source} is not in the site`);
  const loaded = /<(?:img|script|source|iframe|link)\b[^>]*\s(?:src|srcset|href)="((?:https?:)?\/\/[^"]+)"/g;
  return [...broken, ...lost, ...foreignOf(site, page, loaded)];
}

function foreignOf(site, file, pattern) {
  return matches(readFileSync(file, "utf8"), pattern).map(
    (address) => `${relative(site, file)}: ${address} is loaded from another origin`,
  );
}

function problemOfLink(site, page, link, anchorsIn) {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return undefined;
  const [path, anchor = ""] = decodeURI(link.replaceAll("&amp;", "&")).split("#", 2);
  const named = path === "" ? page : path.startsWith("/") ? join(site, path) : join(dirname(page), path);
  const target = [named, join(named, "index.html")].find((file) => existsSync(file) && /\.\w+$/.test(file));
  if (target === undefined) return `${relative(site, page)}: ${link} leads to no page`;
  if (anchor === "" || !target.endsWith(".html") || anchorsIn(target).has(anchor)) return undefined;
  return `${relative(site, page)}: ${link}: there is no such anchor`;
}

function matches(text, pattern) {
  return [...text.matchAll(pattern)].map(([, found]) => found);
}
