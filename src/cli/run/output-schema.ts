/**
 * The file of `--output-schema`: the JSON Schema that the answer of a run must match.
 */
import { isObject } from "../../core/data/is-object.js";
import { parseJson } from "../../core/index.js";
import { type Json, PawlError } from "../../index.js";
import { readSmallText } from "../files/small-file.js";

export type OutputSchema = { readonly [key: string]: Json };

/** The schema is sent to the model with each request. */
const maxBytes = 64 * 1024;

/** @throws PawlError `bad_input` if the file does not have the form of a JSON Schema of an object */
export function readOutputSchema(path: string): OutputSchema {
  const refuse = (why: string) => createSchemaError(path, why);
  const text = readSmallText(path, maxBytes, refuse);
  if (text === null) throw refuse("there is no such file");
  const parsed = parseJson(text);
  if (!parsed.ok) throw refuse(`it is not valid JSON (${parsed.error})`);
  const { value } = parsed;
  if (!isObject(value)) throw refuse("it is not an object");
  const schema = value as OutputSchema;
  if (schema.type !== "object") throw refuse('its type must be "object"');
  return schema;
}

/** Starts a run with the schema of a file. @throws PawlError `bad_input` that names the file, if the schema cannot be used */
export async function startWithSchema<Result>(path: string, start: () => Promise<Result>): Promise<Result> {
  try {
    return await start();
  } catch (error) {
    const isAboutSchema = error instanceof PawlError && error.message.startsWith(refusal);
    throw isAboutSchema ? createSchemaError(path, error.message.slice(refusal.length).replace(/\.$/, "")) : error;
  }
}

/** The beginning of the error for a schema that an agent refuses. */
const refusal = "The option output of a run: ";

function createSchemaError(path: string, why: string): PawlError {
  return new PawlError(
    "bad_input",
    `The schema ${path} cannot be used: ${why}. Give a file with the JSON Schema of an object, such as {"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}.`,
  );
}
