/**
 * The settings of the site's generator. Nothing is loaded from another origin: search, fonts and colors are files of the site.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { slugOf } from "../../pages.mjs";

const staged = resolve("temp/site-source");
const { bar, side } = JSON.parse(readFileSync(resolve(staged, "navigation.json"), "utf8"));
const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><path d='M6 26V6h12a7 7 0 0 1 0 14h-6v6z' fill='%230a6c74'/></svg>";

export default {
  lang: "en",
  title: "Pawl",
  description:
    "A durable agent loop for TypeScript: a killed run continues where it left off, and no completed tool call runs twice.",
  srcDir: staged,
  outDir: resolve("temp/site"),
  cacheDir: resolve("temp/site-cache"),
  head: [["link", { rel: "icon", href: icon }]],
  markdown: {
    anchor: { slugify: slugOf },
    theme: { light: "github-light", dark: "github-dark" },
    languageAlias: { jsonc: "json" },
  },
  themeConfig: {
    nav: bar,
    sidebar: side,
    outline: { level: [2, 3] },
    search: { provider: "local", options: { detailedView: true } },
    docFooter: { prev: "Before", next: "Next" },
    footer: { message: "Apache-2.0. This site loads nothing from anywhere else and counts nobody." },
  },
};
