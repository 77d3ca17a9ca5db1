/**
 * What `pawl.config.json` says, for the person and for a folder.
 *
 * 1. A key that is not known is an error with the nearest name, never left out.
 * 2. What is read is what counts: the bytes are read once, and the trust in a folder is about these bytes.
 */
import { join } from "node:path";
import { nearestName, parseJson } from "../../core/index.js";
import { type Json, PawlError, type RunLimits } from "../../index.js";
import { mostConfigurationBytes } from "../configuration-folder.js";
import { readLists } from "../permissions/rule-file.js";
import type { RuleLists } from "../permissions/rule-text.js";
import { readSmallText } from "../small-file.js";
import { plainJson } from "./json-with-comments.js";
import { problemWith, settingTable } from "./setting-table.js";

export const configurationName = "pawl.config.json";

/** Limits of each run. */
export type ConfiguredLimits = Partial<Pick<RunLimits, "maxSteps" | "maxTokens" | "maxCostUsd" | "maxWallClockMs">>;

/** Values by the names that `pawl config` has for them, such as `limits.maxSteps` and `models.fast.use`. */
export type Settings = { readonly [key: string]: Json };

export type Configuration = {
  readonly settings: Settings;
  readonly permissions?: RuleLists;
};

export type ConfigurationFile = {
  readonly path: string;
  readonly text: string;
  readonly value: Configuration;
};

/** The settings that are one value or one list, as `pawl config get` and `set` name them. */
export const settingNames: readonly string[] = Object.keys(settingTable);

/** The file of a folder; null if there is none. @throws PawlError `bad_configuration` */
export function readConfiguration(folder: string): ConfigurationFile | null {
  const path = join(folder, configurationName);
  const text = readSmallText(path, mostConfigurationBytes, (why) => refused(path, why));
  if (text === null) return null;
  const before = known.get(path);
  if (before?.text === text) return before;
  const file: ConfigurationFile = { path, text, value: parseConfiguration(path, text) };
  if (known.size >= mostKnown) known.clear();
  known.set(path, file);
  return file;
}

/** Files that were read before, so that the same text is parsed once. */
const known = new Map<string, ConfigurationFile>();
const mostKnown = 100;

/** What a text says that is, or is to be, in this file. @throws PawlError `bad_configuration` */
export function parseConfiguration(path: string, text: string): Configuration {
  const refuse = (why: string) => refused(path, why);
  const parsed = parseJson(plainJson(text));
  if (!parsed.ok) throw refuse(`it is not valid JSON (${parsed.error})`);
  const { $schema, permissions, ...members } = objectIn(parsed.value, "it", refuse);
  if ($schema !== undefined && typeof $schema !== "string") throw refuse("$schema must be an address");
  const settings: { [key: string]: Json } = Object.create(null);
  readMembers(members, [], settings, refuse);
  return { settings, ...(permissions === undefined ? {} : { permissions: readLists(permissions, refuse) }) };
}

type Refuse = (why: string) => PawlError;

function objectIn(value: Json, what: string, refuse: Refuse): { readonly [key: string]: Json } {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as { readonly [key: string]: Json };
  throw refuse(`${what} must be an object`);
}

const tablePlaces = Object.keys(settingTable).map((place) => place.split("."));

/** Reads the members of an object of the file, and of those within it, by the table. */
function readMembers(
  members: { readonly [key: string]: Json },
  within: readonly string[],
  settings: { [key: string]: Json },
  refuse: Refuse,
): void {
  const inside = tablePlaces.filter((place) => within.every((name, at) => place[at] === name));
  const known = [...new Set(inside.map((place) => place[within.length] ?? ""))];
  for (const [name, value] of Object.entries(members)) {
    const path = [...within, name];
    const key = path.join(".");
    if (!known.includes(name)) throw unknownSetting(name, within, known, refuse);
    const rule = settingTable[key];
    if (rule === undefined) {
      readMembers(objectIn(value, key, refuse), path, settings, refuse);
      continue;
    }
    const problem = problemWith(rule.kind, value);
    if (problem !== null)
      throw refuse(`${key} ${problem}${key === "model" ? " such as anthropic/claude-sonnet-5-5" : ""}`);
    settings[key] = value;
  }
}

function unknownSetting(name: string, within: readonly string[], known: readonly string[], refuse: Refuse): PawlError {
  const all = within.length === 0 ? [...known, "permissions"] : known;
  const path = within.map((one) => `${one}.`).join("");
  const near = nearestName(name, all);
  return refuse(
    `${path}${name} is no setting. ${near === undefined ? `It knows ${all.join(", ")}` : `Did you mean ${path}${near}`}`,
  );
}

function refused(path: string, why: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `${path} cannot be used: ${why}. Mend the file; "pawl config check" looks at it again.`,
  );
}
