/**
 * What `pawl.config.json` says, for the person and for a folder.
 *
 * 1. A key that is not known is an error with the nearest name, never left out.
 * 2. What is read is what counts: the bytes are read once, and the trust in a folder is about these bytes.
 */
import { join } from "node:path";
import { nearestName, parseJson } from "../../core/index.js";
import { type Json, PawlError, type RunLimits } from "../../index.js";
import { readLists } from "../permissions/rule-file.js";
import type { RuleLists } from "../permissions/rule-text.js";
import { readSmallText } from "../small-file.js";
import { plainJson } from "./json-with-comments.js";

export const configurationName = "pawl.config.json";

/** Limits of each run. */
export type ConfiguredLimits = Partial<Pick<RunLimits, "maxSteps" | "maxTokens" | "maxCostUsd" | "maxWallClockMs">>;

export type Configuration = {
  /** `provider/model`. */
  readonly model?: string;
  readonly limits?: ConfiguredLimits;
  readonly permissions?: RuleLists;
};

export type ConfigurationFile = {
  readonly path: string;
  readonly text: string;
  readonly value: Configuration;
};

/** Bytes of a file. */
export const mostBytes = 64 * 1024;
const keys = ["$schema", "model", "limits", "permissions"] as const;
const limitNames = ["maxSteps", "maxTokens", "maxCostUsd", "maxWallClockMs"] as const;

/** The settings that are one value, as `pawl config get` and `set` name them. */
export const settingNames = ["model", ...limitNames.map((name) => `limits.${name}` as const)] as const;

/** The file of a folder; null if there is none. @throws PawlError `bad_configuration` */
export function readConfiguration(folder: string): ConfigurationFile | null {
  const path = join(folder, configurationName);
  const text = readSmallText(path, mostBytes, (why) => refused(path, why));
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
  const members = objectIn(parsed.value, "it", refuse);
  checkNames(members, keys, "", refuse);
  const { model, limits, permissions } = members;
  if (members.$schema !== undefined && typeof members.$schema !== "string") throw refuse("$schema must be an address");
  if (model !== undefined && (typeof model !== "string" || model.trim() === ""))
    throw refuse("model must be a text such as anthropic/claude-sonnet-5-5");
  return {
    ...(model === undefined ? {} : { model }),
    ...(limits === undefined ? {} : { limits: readLimits(limits, refuse) }),
    ...(permissions === undefined ? {} : { permissions: readLists(permissions, refuse) }),
  };
}

type Refuse = (why: string) => PawlError;

function objectIn(value: Json, what: string, refuse: Refuse): { readonly [key: string]: Json } {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as { readonly [key: string]: Json };
  throw refuse(`${what} must be an object`);
}

function checkNames(members: object, known: readonly string[], within: string, refuse: Refuse): void {
  for (const name of Object.keys(members)) {
    if (known.includes(name)) continue;
    const near = nearestName(name, known);
    const meant =
      near === undefined
        ? `It knows ${known.filter((one) => one !== "$schema").join(", ")}`
        : `Did you mean ${within}${near}?`;
    throw refuse(`${within}${name} is no setting. ${meant.replace(/\?$/, "")}`);
  }
}

function readLimits(value: Json, refuse: Refuse): ConfiguredLimits {
  const limits = objectIn(value, "limits", refuse);
  checkNames(limits, limitNames, "limits.", refuse);
  for (const [name, limit] of Object.entries(limits)) {
    const isWell = typeof limit === "number" && limit > 0 && (name === "maxCostUsd" || Number.isInteger(limit));
    if (!isWell) throw refuse(`limits.${name} must be a number above 0`);
  }
  return limits as ConfiguredLimits;
}

function refused(path: string, why: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `${path} cannot be used: ${why}. Mend the file; "pawl config check" looks at it again.`,
  );
}
