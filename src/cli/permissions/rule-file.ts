/**
 * A file with permission rules.
 *
 * 1. The file is replaced as a whole, under a lock: a temporary file is written and renamed. A reader never sees a part of it.
 * 2. A file that cannot be read is reported as an error. It is never treated as a file without rules.
 * 3. The file is read again whenever it has changed, so a rule that another process removes stops applying at once.
 */

import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { getErrorMessage } from "../../core/data/error-message.js";
import { isObject } from "../../core/data/is-object.js";
import { PawlError } from "../../index.js";
import { readSmallText } from "../files/small-file.js";
import { toOneLine } from "../terminal/text.js";
import { type RuleLists, type StoredRule, verdicts } from "./rule-types.js";

const maxBytes = 1024 * 1024;
const maxRules = 1_000;

export type RuleFile = {
  readonly path: string;
  /** Returns the current lists. @throws PawlError `bad_configuration` if the file cannot be read */
  readonly read: () => RuleLists;
  /** Updates the lists, starting from their content under the lock. @throws PawlError `bad_configuration` */
  readonly change: (update: (lists: RuleLists) => RuleLists) => Promise<void>;
};

/** @param header written to the file, so that a person who opens it knows what it is for */
export function openRuleFile(path: string, header: { readonly folder?: string } = {}): RuleFile {
  let cached: { readonly stamp: string; readonly lists: RuleLists } | null = null;
  const read = (): RuleLists => {
    const stamp = readStamp(path);
    if (cached === null || cached.stamp !== stamp) cached = { stamp, lists: stamp === "" ? {} : parseRules(path) };
    return cached.lists;
  };
  return {
    path,
    read,
    async change(update) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      await withLock(`${path}.lock`, () => {
        const lists = update(read());
        const draft = `${path}.${process.pid}.new`;
        writeFileSync(draft, `${JSON.stringify({ ...header, ...lists }, null, 2)}\n`, { mode: 0o600 });
        renameSync(draft, path);
      });
    },
  };
}

/** A stamp that differs after each change; empty if there is no file. */
function readStamp(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw createUnreadableError(path, getErrorMessage(error));
  }
}

function parseRules(path: string): RuleLists {
  const text = readSmallText(path, maxBytes, (why) => createUnreadableError(path, why));
  if (text === null) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw createUnreadableError(path, getErrorMessage(error));
  }
  if (!isObject(value)) throw createUnreadableError(path, "it is not a JSON object");
  const { folder, ...lists } = value;
  if (folder !== undefined && typeof folder !== "string")
    throw createUnreadableError(path, "its folder is not a string");
  return parseRuleLists(lists, (why) => createUnreadableError(path, why));
}

/** Reads `{ allow, ask, deny }`. @throws what `createError` makes */
export function parseRuleLists(value: unknown, createError: (why: string) => Error): RuleLists {
  if (!isObject(value)) throw createError("they are not an object");
  const lists: { -readonly [Name in keyof RuleLists]: RuleLists[Name] } = {};
  for (const [name, list] of Object.entries(value)) {
    const verdict = verdicts.find((one) => one === name);
    if (verdict === undefined) throw createError(`${toOneLine(name)} is unknown (known are ${verdicts.join(", ")})`);
    if (!Array.isArray(list) || list.length > maxRules)
      throw createError(`${name} must be a list of at most ${maxRules} rules`);
    lists[verdict] = list.map((stored) => parseStoredRule(stored, name, createError));
  }
  return lists;
}

function parseStoredRule(value: unknown, list: string, createError: (why: string) => Error): StoredRule {
  if (typeof value === "string") return { rule: value };
  const { rule, by, at, call, ...others } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly [name: string]: unknown;
  };
  const isOptionalString = (member: unknown) => member === undefined || typeof member === "string";
  if (typeof rule !== "string" || ![by, at, call].every(isOptionalString) || Object.keys(others).length > 0)
    throw createError(`${list} has a rule that is neither a string nor { rule, by, at, call }`);
  return value as StoredRule;
}

function createUnreadableError(path: string, why: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `The permission rules in ${path} cannot be read: ${why}. Fix the file, or delete it to start without its rules.`,
  );
}

/** A lock that is older than this belongs to a dead process; milliseconds. */
const staleMs = 10_000;
const pauseMs = 20;

/** Uses a folder as a lock: only one process can create it. */
async function withLock(path: string, task: () => void): Promise<void> {
  for (;;) {
    try {
      mkdirSync(path);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (isStale(path)) rmSync(path, { recursive: true, force: true });
      else await setTimeout(pauseMs);
    }
  }
  try {
    task();
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

function isStale(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > staleMs;
  } catch {
    return false;
  }
}
