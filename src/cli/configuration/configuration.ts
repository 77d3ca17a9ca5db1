/**
 * The content of `pawl.config.json`, the person's or a folder's.
 *
 * 1. An unknown key is an error with the nearest name. It is never ignored.
 * 2. The bytes that are trusted are the bytes that apply: the file is read once, and the trust in a folder is about these bytes.
 */

import { join } from "node:path";
import { isJsonObject } from "../../core/data/is-object.js";
import { nearestName, parseJson, type RunLimits } from "../../core/index.js";
import { type Json, PawlError } from "../../index.js";
import { maxConfigurationBytes } from "../files/configuration-folder.js";
import { readSmallText } from "../files/small-file.js";
import { parseRuleLists } from "../permissions/rule-file.js";
import type { RuleLists } from "../permissions/rule-types.js";
import { findSettingProblem, settingTable } from "./setting-table.js";
import { stripComments } from "./strip-comments.js";

export const configurationName = "pawl.config.json";

/** Limits of each run. */
export type ConfiguredLimits = Partial<Pick<RunLimits, "maxSteps" | "maxTokens" | "maxCostUsd" | "maxWallClockMs">>;

/** Values by their names in `pawl config`, such as `limits.maxSteps` and `models.fast.use`. */
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

/** The names of the settings, as `pawl config get` and `set` accept them. */
export const settingNames: readonly string[] = Object.keys(settingTable);

/** The file of a folder; null if there is none. @throws PawlError `bad_configuration` */
export function readConfiguration(folder: string): ConfigurationFile | null {
  const path = join(folder, configurationName);
  const text = readSmallText(path, maxConfigurationBytes, (why) => createConfigurationError(path, why));
  if (text === null) return null;
  const cached = known.get(path);
  if (cached?.text === text) return cached;
  const file: ConfigurationFile = { path, text, value: parseConfiguration(path, text) };
  if (known.size >= maxKnown) known.clear();
  known.set(path, file);
  return file;
}

/** Caches parsed files, so that the same text is parsed once. */
const known = new Map<string, ConfigurationFile>();
const maxKnown = 100;

/** Parses the text of this file, which may not be written yet. @throws PawlError `bad_configuration` */
export function parseConfiguration(path: string, text: string): Configuration {
  const createError = (why: string) => createConfigurationError(path, why);
  const parsed = parseJson(stripComments(text));
  if (!parsed.ok) throw createError(`it is not valid JSON (${parsed.error})`);
  const { $schema, permissions, ...members } = requireObject(parsed.value, "it", createError);
  if ($schema !== undefined && typeof $schema !== "string") throw createError("$schema must be an address");
  const settings: { [key: string]: Json } = Object.create(null);
  readMembers(members, [], settings, createError);
  if (permissions === undefined) return { settings };
  const lists = requireObject(permissions, "permissions", createError);
  return { settings, permissions: parseRuleLists(lists, (why) => createError(`permissions.${why}`)) };
}

type CreateError = (why: string) => PawlError;

function requireObject(value: Json, what: string, createError: CreateError): { readonly [key: string]: Json } {
  if (isJsonObject(value)) return value;
  throw createError(`${what} must be an object`);
}

const settingPaths = Object.keys(settingTable).map((key) => key.split("."));

/** Reads the members of an object of the file, and nested members, as the table describes them. */
function readMembers(
  members: { readonly [key: string]: Json },
  parentPath: readonly string[],
  settings: { [key: string]: Json },
  createError: CreateError,
): void {
  const matchingPaths = settingPaths.filter((settingPath) => parentPath.every((name, at) => settingPath[at] === name));
  const known = [...new Set(matchingPaths.map((settingPath) => settingPath[parentPath.length] ?? ""))];
  for (const [name, value] of Object.entries(members)) {
    const path = [...parentPath, name];
    const key = path.join(".");
    if (!known.includes(name)) throw createUnknownSettingError(name, parentPath, known, createError);
    const rule = settingTable[key];
    if (rule === undefined) {
      readMembers(requireObject(value, key, createError), path, settings, createError);
      continue;
    }
    const problem = findSettingProblem(rule.kind, value);
    if (problem !== null)
      throw createError(`${key} ${problem}${key === "model" ? ", such as anthropic/claude-sonnet-5-5" : ""}`);
    settings[key] = value;
  }
}

function createUnknownSettingError(
  name: string,
  parentPath: readonly string[],
  known: readonly string[],
  createError: CreateError,
): PawlError {
  const all = parentPath.length === 0 ? [...known, "permissions"] : known;
  const elsewhere =
    parentPath.length === 0 && Object.hasOwn(settingsElsewhere, name) ? settingsElsewhere[name] : undefined;
  if (elsewhere !== undefined) return createError(`${name} is not a setting. ${elsewhere}`);
  const path = parentPath.map((one) => `${one}.`).join("");
  const suggestion = nearestName(name, all);
  return createError(
    `${path}${name} is not a setting. ${suggestion === undefined ? `Known settings: ${all.join(", ")}` : `Did you mean ${path}${suggestion}?`}`,
  );
}

/** Where Pawl keeps settings that other programs keep in the same file. */
const settingsElsewhere: { readonly [name: string]: string | undefined } = {
  mcpServers: "MCP servers have their own file: pawl mcp add",
  hooks: "Hooks have their own file, hooks.json next to your settings or .pawl/hooks.json in a folder",
};

function createConfigurationError(path: string, why: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `${path} cannot be used: ${why}${why.endsWith("?") ? "" : "."} Fix the file; "pawl config check" checks it again.`,
  );
}
