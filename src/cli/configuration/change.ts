/**
 * Changes `pawl.config.json`: one value, or the whole text.
 *
 * 1. The new text is parsed before it is written, as the file would be. An invalid text is never written.
 * 2. The file is replaced as a whole: the text goes to a temporary file, which is then renamed. A symbolic link stays a link.
 * 3. Comments belong to the person. A change that would lose them is refused.
 */
import { mkdirSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { nearestName, parseJson } from "../../core/index.js";
import { type Json, PawlError } from "../../index.js";
import { formatNumber } from "../../view/format-number.js";
import { maxConfigurationBytes } from "../files/configuration-folder.js";
import { readSmallText } from "../files/small-file.js";
import { parseConfiguration, settingNames } from "./configuration.js";
import {
  describeUnknownTool,
  findSettingProblem,
  listUnknownTools,
  type SettingKind,
  type SettingRule,
  settingTable,
} from "./setting-table.js";

/** The content of the file, valid or not; null if there is none. @throws PawlError `bad_configuration` */
export function readConfigurationText(path: string): string | null {
  return readSmallText(
    path,
    maxConfigurationBytes,
    (why) => new PawlError("bad_configuration", `${path} cannot be changed: ${why}. Fix the file.`),
  );
}

/** @throws PawlError `bad_configuration` if the text is invalid; the file is then unchanged */
export function writeConfiguration(path: string, text: string): void {
  parseConfiguration(path, text);
  const size = Buffer.byteLength(text);
  if (size > maxConfigurationBytes)
    throw new PawlError(
      "bad_configuration",
      `${path} would be larger than ${formatNumber(maxConfigurationBytes)} bytes.`,
    );
  replaceFile(path, text);
}

/** Replaces a file as a whole. A symbolic link stays a link. */
export function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const target = resolveLink(path);
  const draft = `${target}.${process.pid}.new`;
  writeFileSync(draft, text, { mode: statSync(target, { throwIfNoEntry: false })?.mode ?? 0o644 });
  renameSync(draft, target);
}

function resolveLink(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Sets one value. The rest of the file is unchanged.
 * @param value as written on the command line
 * @throws PawlError `bad_input`, `bad_configuration`
 */
export function setValue(path: string, key: string, value: string): Json {
  const rule = getRule(key);
  const members = readMembers(path, readConfigurationText(path) ?? "{}");
  const written = parseSettingValue(rule.kind, key, value);
  const problem = findSettingProblem(rule.kind, written);
  if (problem !== null) throw new PawlError("bad_input", `${key} ${problem}. Nothing was changed.`);
  // A file may name tools of another version, but the person types the name now.
  const [unknown] = rule.kind.type === "names of tools" ? listUnknownTools(written) : [];
  if (unknown !== undefined)
    throw new PawlError("bad_input", `${key} ${describeUnknownTool(unknown)}. Nothing was changed.`);
  const changed = setIn(members, key.split("."), written);
  writeConfiguration(path, `${JSON.stringify(changed, null, 2)}\n`);
  return written;
}

/**
 * Removes one setting from the file, and objects that are empty after that. The rest of the file is unchanged.
 * @throws PawlError `bad_input` if the file does not have it, `bad_configuration`
 */
export function unsetValue(path: string, key: string): void {
  getRule(key);
  const text = readConfigurationText(path);
  const changed = text === null ? null : removeIn(readMembers(path, text), key.split("."));
  if (changed === null)
    throw new PawlError("bad_input", `${key} is not set in ${path}. "pawl config" lists what is set, and where.`);
  writeConfiguration(path, `${JSON.stringify(changed, null, 2)}\n`);
}

function getRule(key: string): SettingRule {
  const rule = Object.hasOwn(settingTable, key) ? settingTable[key] : undefined;
  if (rule === undefined) throw createUnknownKeyError(key);
  return rule;
}

/** The members of a file that can be written again without a loss. @throws PawlError `bad_configuration` */
function readMembers(path: string, text: string): JsonObject {
  // The current file must be valid, or the change would hide what is wrong with it.
  parseConfiguration(path, text);
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.value as JsonObject;
  throw new PawlError(
    "bad_configuration",
    `${path} has comments, which would be lost. Write the setting yourself: pawl config edit`,
  );
}

type JsonObject = { readonly [key: string]: Json };

/** The members without this one; null if there is none. */
function removeIn(members: JsonObject, [name = "", ...inner]: readonly string[]): JsonObject | null {
  const { [name]: member, ...others } = members;
  if (member === undefined) return null;
  if (inner.length === 0) return others;
  const rest = removeIn(member as JsonObject, inner);
  if (rest === null) return null;
  return Object.keys(rest).length === 0 ? others : { ...members, [name]: rest };
}

function setIn(container: Json | undefined, [name = "", ...inner]: readonly string[], value: Json): Json {
  const members = (container ?? {}) as { readonly [key: string]: Json };
  return { ...members, [name]: inner.length === 0 ? value : setIn(members[name], inner, value) };
}

/** Parses a value from the command line. A list is separated by commas, or is JSON. */
function parseSettingValue({ type }: SettingKind, key: string, value: string): Json {
  switch (type) {
    case "whole number":
    case "number":
      if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
      throw new PawlError("bad_input", `${key} takes a number above 0, for example: pawl config set ${key} 5`);
    case "yes or no":
      if (value === "true" || value === "false") return value === "true";
      throw new PawlError("bad_input", `${key} takes true or false, for example: pawl config set ${key} true`);
    case "some of":
    case "texts":
    case "names of tools":
    case "names of files":
    case "names of variables":
    case "names of models":
    case "hosts":
    case "addresses": {
      const parsed = value.startsWith("[") ? parseJson(value) : null;
      if (parsed?.ok === true) return parsed.value;
      return value
        .split(",")
        .map((one) => one.trim())
        .filter((one) => one !== "");
    }
    case "models": {
      const parsed = parseJson(value);
      if (parsed.ok) return parsed.value;
      throw new PawlError(
        "bad_input",
        `${key} takes JSON, for example: pawl config set ${key} '{"fast":{"use":"ollama/qwen3"}}'`,
      );
    }
    case "text":
    case "one of":
      return value;
  }
}

/** The error for a key that is not a setting. */
export function createUnknownKeyError(key: string, known: readonly string[] = settingNames): PawlError {
  if (/^permissions\b/.test(key))
    return new PawlError("bad_input", "Rules have their own commands, for example: pawl permissions add allow RULE");
  const suggestion = nearestName(key, known);
  const suggestionNote =
    suggestion === undefined ? `Known settings: ${settingNames.join(", ")}.` : `Did you mean ${suggestion}?`;
  return new PawlError("bad_input", `${JSON.stringify(key)} is not a setting. ${suggestionNote}`);
}
