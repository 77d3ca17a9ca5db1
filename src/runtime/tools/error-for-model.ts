/**
 * An error that an AI SDK tool's `toModelOutput` makes of a result (`error-text`, `execution-denied`): the tool ran, and the model
 * is told of a failure.
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
