/**
 * Reads cases from files, and validates cases that are passed as values.
 */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { getErrorMessage } from "../core/data/error-message.js";
import { isObject } from "../core/data/is-object.js";
import { parseJson } from "../core/data/json.js";
import { PawlError } from "../errors.js";
import type { EvalCase } from "./case.js";

/** Generous, because a recorded session may be long. */
const maxCaseBytes = 64 * 1024 * 1024;

/**
 * Reads the cases of a folder: all its `*.json` files, sorted by name.
 * @throws PawlError `bad_input` if the folder cannot be read, or if a file is not a valid case
 */
export function readCases(folder: string): readonly EvalCase[] {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (cause) {
    throw new PawlError(
      "bad_input",
      `The folder of cases ${folder} cannot be read. Make a case with: pawl eval add SESSION.`,
      { cause },
    );
  }
  return names
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => readCase(join(folder, name)));
}

function readCase(path: string): EvalCase {
  const read = parseJson(readText(path), { maxBytes: maxCaseBytes });
  if (!read.ok) throw notACaseError(path, `its JSON cannot be read (${read.error})`);
  const name = basename(path, ".json");
  const fault = findCaseFault(read.value);
  if (fault !== null) throw notACaseError(path, fault);
  return { ...(read.value as unknown as EvalCase), name };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw notACaseError(path, getErrorMessage(cause));
  }
}

function notACaseError(path: string, why: string): PawlError {
  return new PawlError(
    "bad_input",
    `${path} is not a valid case: ${why}. Correct it, or make it again with: pawl eval add.`,
  );
}

/** Validates cases that are passed as values. @throws PawlError `bad_input` */
export function checkCases(cases: readonly EvalCase[]): readonly EvalCase[] {
  const names = new Set<string>();
  for (const [index, one] of cases.entries()) {
    const fault = findCaseFault(one) ?? (typeof one.name === "string" && one.name !== "" ? null : "it has no name");
    if (fault !== null) throw new PawlError("bad_input", `cases[${index}] is not a valid case: ${fault}.`);
    if (names.has(one.name))
      throw new PawlError("bad_input", `Two cases are named ${JSON.stringify(one.name)}. Rename one of them.`);
    names.add(one.name);
  }
  return cases;
}

/** Returns the first fault of a case; null if the case can be played. */
function findCaseFault(value: unknown): string | null {
  if (!isObject(value)) return "it is not an object";
  if (value.v !== 1)
    return `its version v is ${JSON.stringify(value.v ?? null)}, and this version of Pawl plays version 1`;
  if (!Array.isArray(value.turns) || value.turns.length === 0) return "it has no turns";
  for (const [index, turn] of value.turns.entries())
    if (!isObject(turn) || !Array.isArray(turn.input) || !turn.input.every(isUserMessage))
      return `turns[${index}].input is not a list of user messages`;
  for (const key of ["answers", "calls", "sessions", "outsideTools", "history", "tags"])
    if (value[key] !== undefined && !Array.isArray(value[key])) return `its ${key} is not a list`;
  for (const key of ["answers", "calls"])
    for (const [index, one] of ((value[key] ?? []) as readonly unknown[]).entries())
      if (!isObject(one) || typeof one.tool !== "string" || !("input" in one))
        return `${key}[${index}] lacks a tool or an input`;
  for (const [index, one] of ((value.calls ?? []) as readonly { readonly output?: unknown }[]).entries())
    if (!isObject(one.output) || typeof one.output.type !== "string") return `calls[${index}] has no output`;
  if (value.expected !== undefined && !isObject(value.expected)) return "expected is not an object";
  return null;
}

function isUserMessage(value: unknown): boolean {
  return isObject(value) && value.role === "user" && Array.isArray(value.parts);
}
