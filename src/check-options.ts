/**
 * Checks options by one total table: a new option that is not in its table does not compile.
 */

import { isObject } from "./core/data/is-object.js";
import { nearestName } from "./core/data/nearest-name.js";
import { type ErrorCode, PawlError } from "./errors.js";

/** The rule of one option: `accepts` tests a value, `expected` describes the valid values in messages. */
export type OptionRule = {
  readonly accepts: (value: unknown) => boolean;
  readonly expected: string;
  /** Refuses options without it. Otherwise `undefined` counts as left out, and passes. */
  readonly isRequired?: true;
};

/** A rule for each option. */
export type OptionTable<Options> = { readonly [Name in keyof Options]-?: OptionRule };

export type CheckSettings = {
  /** The code of the error. Default: `bad_configuration`. */
  readonly code?: ErrorCode;
  /** Names that other libraries use, and the option that is meant. */
  readonly otherNames?: { readonly [name: string]: string };
};

/**
 * Refuses unknown names, values that an option may not have, and missing options that are required.
 * @param what where the options are, in messages: "limits", or a function, "createAgent()"
 * @throws PawlError `bad_configuration`, or the code of the settings
 */
export function checkOptions<Options extends object>(
  what: string,
  table: OptionTable<Options>,
  options: Options,
  { code = "bad_configuration", otherNames = {} }: CheckSettings = {},
): void {
  const fail = (message: string): never => {
    throw new PawlError(code, message);
  };
  if (!isObject(options))
    fail(
      `The options of ${what} are ${formatValue(options)}; they must be an object with ${Object.keys(table).join(", ")}.`,
    );
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(table, name)) fail(formatUnknownOption(what, name, Object.keys(table), otherNames));
    const { accepts, expected, isRequired = false } = table[name as keyof Options];
    if (value === undefined || accepts(value)) continue;
    const where = what.endsWith(")") ? `The option ${name} of ${what}` : `${what}.${name}`;
    const hint = isRequired ? "" : " Leave it out for its default.";
    fail(`${where} is ${formatValue(value)}; it must be ${expected}.${hint}`);
  }
  for (const [name, { expected, isRequired }] of Object.entries<OptionRule>(table))
    if (isRequired === true && (options as { readonly [name: string]: unknown })[name] === undefined)
      fail(`${what} needs the option ${name}${expected === anyValue.expected ? "" : `: ${expected}`}.`);
}

/** The same for parts that may be instances of classes, which may hold more: only plain objects are checked. */
export function checkPlainOptions<Options extends object>(
  what: string,
  table: OptionTable<Options>,
  options: Options,
  settings?: CheckSettings,
): void {
  const prototype: unknown =
    typeof options === "object" && options !== null ? Object.getPrototypeOf(options) : undefined;
  if (prototype === Object.prototype || prototype === null) checkOptions(what, table, options, settings);
}

function formatUnknownOption(
  what: string,
  name: string,
  known: readonly string[],
  otherNames: NonNullable<CheckSettings["otherNames"]>,
): string {
  const suggestion = Object.hasOwn(otherNames, name) ? otherNames[name] : nearestName(name, known);
  const hint = suggestion === undefined ? "" : ` Do you mean ${suggestion}?`;
  return `${what} has no option ${JSON.stringify(name.slice(0, 100))}.${hint} It has ${known.join(", ")}.`;
}

function formatValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 100));
  if (value instanceof Promise) return "a promise";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  return typeof value === "function" ? "a function" : String(value);
}

export const aFunction: OptionRule = { accepts: (value) => typeof value === "function", expected: "a function" };

/** May be empty. */
export const aString: OptionRule = { accepts: (value) => typeof value === "string", expected: "a string" };

export const anArray: OptionRule = { accepts: (value) => Array.isArray(value), expected: "an array" };

export const anObject: OptionRule = {
  accepts: isObject,
  expected: "an object",
};

/** A store may be an instance of a class of the user's own. A promise of one is the usual mistake. */
export const aStore: OptionRule = {
  accepts: (value) =>
    typeof value === "object" && value !== null && "claim" in value && typeof value.claim === "function",
  expected: "a store, such as the result of `await openSqliteStore(…)`",
};

/** It may come from another realm or from a polyfill, so only the members that Pawl uses are checked. */
export const aSignal: OptionRule = {
  accepts: (value) => typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value,
  expected: "an AbortSignal",
};

export const aBoolean: OptionRule = { accepts: (value) => typeof value === "boolean", expected: "true or false" };

export const aBooleanOrFunction: OptionRule = {
  accepts: (value) => typeof value === "boolean" || typeof value === "function",
  expected: "true, false or a function",
};

export const nonEmptyString: OptionRule = {
  accepts: (value) => typeof value === "string" && value !== "",
  expected: "a string that is not empty",
};

/** Any value: the code that uses the option checks it. */
export const anyValue: OptionRule = { accepts: () => true, expected: "a value" };

/** @param unit what is counted, if the message should name it: "tokens", "bytes" */
export function integerFrom(least: number, unit?: string): OptionRule {
  return {
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= least,
    expected: `a whole number${unit === undefined ? "" : ` of ${unit}`}, ${least} or more`,
  };
}

export function numberAbove(bound: number, unit: string): OptionRule {
  return {
    accepts: (value) => Number.isFinite(value) && (value as number) > bound,
    expected: `${unit}, more than ${bound}`,
  };
}

/** Milliseconds. Infinity means that there is no time limit. */
export const timeLimit: OptionRule = {
  accepts: (value) => typeof value === "number" && value > 0,
  expected: "milliseconds, more than 0, or Infinity for no limit",
};

export function numberFrom(least: number, most = Number.POSITIVE_INFINITY): OptionRule {
  return {
    accepts: (value) => Number.isFinite(value) && (value as number) >= least && (value as number) <= most,
    expected: most === Number.POSITIVE_INFINITY ? `a number of ${least} or more` : `a number from ${least} to ${most}`,
  };
}

export const ratio: OptionRule = {
  accepts: (value) => typeof value === "number" && value > 0 && value <= 1,
  expected: "a number above 0, up to 1",
};

/** Epoch milliseconds. */
export const aTime: OptionRule = { ...numberFrom(0), expected: "a time in epoch milliseconds, such as Date.now()" };

export function required(rule: OptionRule): OptionRule {
  return { ...rule, isRequired: true };
}

export function oneOf(...values: readonly string[]): OptionRule {
  const names = values.map((value) => JSON.stringify(value));
  return {
    accepts: (value) => typeof value === "string" && values.includes(value),
    expected: `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`,
  };
}
