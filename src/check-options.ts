/**
 * Checks options by one total table: a new option that is not in its table does not compile.
 */
import { PawlError } from "./errors.js";

/** What one option may be: `takes` tests a value, `wanted` describes it in messages. */
export type OptionRule = { readonly takes: (value: unknown) => boolean; readonly wanted: string };

/** A rule for each option. */
export type OptionTable<Options> = { readonly [Name in keyof Options]-?: OptionRule };

/**
 * Refuses unknown names, and values that an option may not have. `undefined` counts as left out, and passes.
 * @param what the name of the options in messages: "limits", "compaction"
 * @throws PawlError `bad_configuration`
 */
export function checkOptions<Options extends object>(what: string, table: OptionTable<Options>, given: Options): void {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(table, name))
      throw misconfigured(`There is no ${what}.${name}. There are ${Object.keys(table).join(", ")}.`);
    const { takes, wanted } = table[name as keyof Options];
    if (value === undefined || takes(value)) continue;
    throw misconfigured(`${what}.${name} is ${shown(value)}; it must be ${wanted}. Leave it out for its default.`);
  }
}

function misconfigured(message: string): PawlError {
  return new PawlError("bad_configuration", message);
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : String(value);
}

export const trueOrFalse: OptionRule = { takes: (value) => typeof value === "boolean", wanted: "true or false" };

export const someText: OptionRule = { takes: (value) => typeof value === "string" && value !== "", wanted: "a text" };

/** Any value: the code that uses the option checks it. */
export const anything: OptionRule = { takes: () => true, wanted: "a value" };

/** @param unit what is counted, if the message should name it: "tokens", "bytes" */
export function wholeNumber(least: number, unit?: string): OptionRule {
  return {
    takes: (value) => Number.isSafeInteger(value) && (value as number) >= least,
    wanted: `a whole number${unit === undefined ? "" : ` of ${unit}`}, ${least} or more`,
  };
}

export function numberAbove(bound: number, unit: string): OptionRule {
  return {
    takes: (value) => Number.isFinite(value) && (value as number) > bound,
    wanted: `${unit}, more than ${bound}`,
  };
}

/** Milliseconds. Infinity means that there is no time limit. */
export const timeLimit: OptionRule = {
  takes: (value) => typeof value === "number" && value > 0,
  wanted: "milliseconds, more than 0, or Infinity for no limit",
};

export function numberFrom(least: number): OptionRule {
  return {
    takes: (value) => Number.isFinite(value) && (value as number) >= least,
    wanted: `a number of ${least} or more`,
  };
}

export const ratio: OptionRule = {
  takes: (value) => typeof value === "number" && value > 0 && value <= 1,
  wanted: "a number above 0, up to 1",
};

export function oneOf(...values: readonly string[]): OptionRule {
  const names = values.map((value) => JSON.stringify(value));
  return {
    takes: (value) => typeof value === "string" && values.includes(value),
    wanted: `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`,
  };
}
