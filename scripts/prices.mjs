/**
 * Writes src/models/facts/prices.generated.ts from the data of `@pydantic/genai-prices`: `npm run prices`.
 *
 *     npm run prices                 writes the table, and prints where it differs from the lists kept by hand
 *     npm run prices -- --check      fails if the table is not what the installed package gives
 *     npm run prices -- --age        fails if the table is older than 30 days and the package has a newer version
 *
 * Before a release: `npm install -D @pydantic/genai-prices@latest`, then `npm run prices`.
 *
 * Only exact ids are taken. The package also matches ids by their beginning, which gives a new model the price of an older one:
 * `claude-sonnet-5-5` would be priced as `claude-sonnet-5`.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { findProvider } from "@pydantic/genai-prices";

const name = "@pydantic/genai-prices";
const file = "src/models/facts/prices.generated.ts";
const maxAgeDays = 30;

/**
 * The package's name of a provider, and the one that a model's id begins with in Pawl. OpenRouter is left out: what it bills depends on
 * the provider that it chooses for each request. So is Azure, whose ids are those of a customer's deployments.
 */
const providers = {
  anthropic: "anthropic",
  openai: "openai",
  google: "google",
  mistral: "mistral",
  groq: "groq",
  "x-ai": "xai",
  deepseek: "deepseek",
  aws: "amazon-bedrock",
  cerebras: "cerebras",
  cohere: "cohere",
  fireworks: "fireworks",
  moonshotai: "moonshotai",
  perplexity: "perplexity",
};

const rateNames = {
  input_mtok: "input",
  output_mtok: "output",
  cache_read_mtok: "cacheRead",
  cache_write_mtok: "cacheWrite",
  cache_write_1h_mtok: "cacheWrite1h",
};

/** The models of all providers: `provider/model` → what is known of it, and what had to be left out, with the reason. */
function readModels(asOf) {
  const models = new Map();
  const left = [];
  for (const [id, prefix] of Object.entries(providers)) {
    for (const model of findProvider({ providerId: id }).models) {
      // The package lists Vertex under Google. Its Claude has other ids here, and other prices by region.
      if (id === "google" && model.id.startsWith("claude")) continue;
      const price = priceOf(model.prices, asOf);
      if (typeof price === "string") left.push(`${prefix}/${model.id}: ${price}`);
      const known = { ...(typeof price === "string" ? {} : { price }), ...windowOf(model) };
      if (Object.keys(known).length === 0) continue;
      for (const exact of idsOf(model)) if (!models.has(`${prefix}/${exact}`)) models.set(`${prefix}/${exact}`, known);
    }
  }
  return { models: new Map([...models].sort(([one], [other]) => (one < other ? -1 : 1))), left };
}

/** The ids that the package gives whole. Of its own id for a model, only one that its rule for the model takes and that is not a beginning. */
function idsOf({ id, match }) {
  const own = takes(match, id) && !/[-:.]$/.test(id) ? [id] : [];
  return [...own, ...wholeIds(match)].filter((one) => one !== "__proto__");
}

function wholeIds(rule) {
  if (rule.equals !== undefined) return [rule.equals];
  return rule.or === undefined ? [] : rule.or.flatMap(wholeIds);
}

function takes(rule, id) {
  if (rule.or !== undefined) return rule.or.some((one) => takes(one, id));
  if (rule.and !== undefined) return rule.and.every((one) => takes(one, id));
  if (rule.equals !== undefined) return id === rule.equals;
  if (rule.starts_with !== undefined) return id.startsWith(rule.starts_with);
  if (rule.ends_with !== undefined) return id.endsWith(rule.ends_with);
  if (rule.contains !== undefined) return id.includes(rule.contains);
  return new RegExp(rule.regex).test(id);
}

/** The price in Pawl's form, or the reason why there is none. */
function priceOf(prices, asOf) {
  const rates = ratesAt(prices, asOf);
  if (typeof rates === "string") return rates;
  const known = Object.entries(rateNames).flatMap(([key, rate]) =>
    rates[key] === undefined ? [] : [[rate, rates[key]]],
  );
  const base = withoutDefault(Object.fromEntries(known.map(([rate, value]) => [rate, baseOf(value)])));
  if (rates.requests_kcount !== undefined) return "costs something for each request";
  if (base.input === undefined || base.output === undefined) return "has no price for text in and out";
  if (Object.values(base).every((value) => value === 0)) return "is free here, but bills are not zero everywhere";
  if (Object.keys(rates).some((key) => /^output_(audio|image|video)/.test(key))) return "answers with more than text";
  const tiers = known.flatMap(([, value]) => (typeof value === "number" ? [] : value.tiers));
  const [over, ...others] = new Set(tiers.map(({ start }) => start));
  if (over === undefined) return base;
  if (others.length > 0) return "has several tiers";
  const long = withoutDefault(Object.fromEntries(known.map(([rate, value]) => [rate, longOf(value)])));
  return { ...base, long: { over, ...long } };
}

/** Without the rate for an hour where it is the one that Pawl assumes. */
function withoutDefault({ cacheWrite1h, ...rates }) {
  if (cacheWrite1h === undefined || Math.abs(cacheWrite1h - rates.cacheWrite * 1.6) < 1e-9) return rates;
  return { ...rates, cacheWrite1h };
}

function baseOf(value) {
  return typeof value === "number" ? value : value.base;
}

function longOf(value) {
  return typeof value === "number" ? value : value.tiers[0].price;
}

/** The rates on a day. A table of constants cannot say what depends on the hour. */
function ratesAt(prices, asOf) {
  if (!Array.isArray(prices)) return prices;
  if (prices.some(({ constraint }) => constraint?.type === "time_of_date")) return "costs more or less by the hour";
  const begun = prices.filter(({ constraint }) => constraint === undefined || constraint.start_date <= asOf);
  return begun.at(-1)?.prices ?? "has no price yet";
}

function windowOf({ context_window: window }) {
  return Number.isSafeInteger(window) && window > 0 ? { window } : {};
}

function pageOf(models, { version, asOf }) {
  const rows = (field) =>
    [...models].flatMap(([id, known]) =>
      known[field] === undefined ? [] : [`  ${quoted(id)}: ${literal(known[field])},`],
    );
  return `// Written by scripts/prices.mjs from the data of ${name} (MIT, Copyright (c) Pydantic Services Inc.). Do not edit.
import type { PriceTable } from "../../core/data/price.js";

/** The day on which that version was published. */
export const asOf = ${quoted(asOf)};

export const source = "https://www.npmjs.com/package/${name}/v/${version}";

/** US dollars per million tokens. */
export const generatedPrices: PriceTable = {
${rows("price").join("\n")}
};

/** Tokens, input and output together. */
export const generatedWindows: { readonly [modelId: string]: number } = {
${rows("window").join("\n")}
};
`;
}

function literal(value) {
  if (typeof value === "number") return String(value);
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${key}: ${literal(inner)}`)
    .join(", ")} }`;
}

function quoted(text) {
  return JSON.stringify(text);
}

/** What the table says of itself; null before it was first written. */
function written() {
  if (!existsSync(file)) return null;
  const text = readFileSync(file, "utf8");
  return { text, version: /\/v\/(.*)"/.exec(text)?.[1], asOf: /asOf = "(.*)"/.exec(text)?.[1] };
}

function installedVersion() {
  return JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version;
}

function published() {
  return JSON.parse(execFileSync("npm", ["view", name, "time", "--json"], { encoding: "utf8" }));
}

function write() {
  const version = installedVersion();
  const before = written();
  const asOf = before?.version === version ? before.asOf : published()[version].slice(0, 10);
  const { models, left } = readModels(asOf);
  writeFileSync(file, pageOf(models, { version, asOf }));
  const priced = [...models.values()].filter(({ price }) => price !== undefined).length;
  console.log(`${priced} prices and ${models.size} models of ${name} ${version}, as of ${asOf}: ${file}`);
  if (left.length > 0) console.log(`\nLeft out:\n  ${left.join("\n  ")}`);
  return models;
}

/** The lists kept by hand are the ones that count: their differences are to be looked at, on the provider's page. */
async function printDifferences(models) {
  const { priceLists } = await import(pathToFileURL("dist/models/index.js").href).catch(() => ({}));
  if (priceLists === undefined) return console.log("\nThe lists kept by hand are compared after a build.");
  const byHand = priceLists.filter(({ source, provider }) => !source.includes(name) && provider !== "demo");
  const rows = byHand.flatMap(({ prices, asOf, source }) =>
    Object.entries(prices).flatMap(([id, own]) => {
      const other = models.get(id)?.price;
      if (other === undefined) return [`${id}: only in our list (${asOf})`];
      return isDeepStrictEqual(own, other)
        ? []
        : [`${id}: ours (${asOf}) ${literal(own)}, theirs ${literal(other)}: see ${source}`];
    }),
  );
  console.log(`\nDifferences from the lists kept by hand, which win:\n  ${rows.join("\n  ") || "none"}`);
}

function check() {
  const before = written();
  const version = installedVersion();
  if (before?.version === version && before.text === pageOf(readModels(before.asOf).models, before)) return;
  console.error(`${file} is not what ${name} ${version} gives. Write it again: npm run prices`);
  process.exitCode = 1;
}

/** A table may be old only if there is nothing newer to be had. */
function checkAge() {
  const { version, asOf } = written();
  const days = Math.floor((Date.now() - Date.parse(asOf)) / 86_400_000);
  console.log(`The prices of ${name} ${version} are ${days} days old.`);
  if (days <= maxAgeDays) return;
  const { modified: _, created: __, ...times } = published();
  const newest = Object.entries(times)
    .sort(([, one], [, other]) => (one < other ? -1 : 1))
    .at(-1)[0];
  if (newest === version)
    return console.log(`There is no newer version. Compare the lists kept by hand with their pages.`);
  console.error(`${newest} is newer: npm install -D ${name}@${newest}, then npm run prices`);
  process.exitCode = 1;
}

const [option] = process.argv.slice(2);
if (option === "--check") check();
else if (option === "--age") checkAge();
else if (option === undefined) await printDifferences(write());
else {
  console.error(`Unknown option ${option}. Usage: npm run prices [-- --check | --age]`);
  process.exitCode = 2;
}
