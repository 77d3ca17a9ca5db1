/**
 * An error that an AI SDK tool's `toModelOutput` returns for a result (`error-text`, `execution-denied`): the tool ran, but
 * the model reads that it failed.
 */
const mark = Symbol("pawl.errorForModel");

type ErrorForModel = { readonly [mark]: string };

export function errorForModel(text: string): ErrorForModel {
  return { [mark]: text };
}

/** The text of the error; undefined for any other value. */
export function errorTextIn(value: unknown): string | undefined {
  return typeof value === "object" && value !== null && mark in value ? (value as ErrorForModel)[mark] : undefined;
}
