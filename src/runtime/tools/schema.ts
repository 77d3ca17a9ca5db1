/**
 * Compiles the input schema of a tool into the JSON Schema that a model sees, and into a validator of the model's input.
 *
 * A schema is compiled once for a tool, never in a step. Nothing here evaluates generated code.
 */

import type { Schema, Validator } from "@cfworker/json-schema";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { getErrorMessage } from "../../core/data/error-message.js";
import { isObject } from "../../core/data/is-object.js";
import { formatPath } from "../../core/data/json.js";
import { measureSchema, type SchemaMeasure, weighJson } from "../../core/data/json-weight.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import { withTimeLimit } from "../../platform/run-bounded.js";
import type { JsonSchema } from "../../ports/model.js";
import type { AiSdkSchema, InputSchema } from "../../ports/tool.js";
import { describeFault, parsePointer, type SchemaFault } from "./schema-faults.js";
import { normaliseJson } from "./to-json.js";

/** Why an input does not match. `path` is for example `files[0].path`, or empty for the whole input. */
export type InputIssue = { readonly path: string; readonly message: string };

export type InputResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly InputIssue[] };

export type CompiledInput = {
  readonly jsonSchema: JsonSchema;
  /** Never throws: if the schema throws, the result has an issue. Most schemas validate synchronously. */
  readonly validate: (value: Json) => InputResult | Promise<InputResult>;
};

const maxIssues = 20;
/** The maximum length of an issue's path or message, in characters. */
const maxIssue = 1_000;

/**
 * @param schema a Standard Schema that also provides its JSON Schema (zod 4, arktype, valibot through
 * `toStandardJsonSchema()`), a schema object of the AI SDK, or a JSON Schema.
 * @throws PawlError `bad_configuration` if the schema does not provide a JSON Schema of type object or string
 */
export function compileInput(schema: InputSchema<unknown>): CompiledInput {
  const compiled = compileAny(schema);
  return compiled.jsonSchema.type === "string" ? wrapInObject(compiled) : compiled;
}

/**
 * The same for a person's answer, which may be of any type: a boolean, a number, or one of several strings.
 * @throws PawlError `bad_configuration`
 */
export function compileAnswer(schema: InputSchema<unknown>): CompiledInput {
  return compileAny(schema, toAnswerSchema);
}

/**
 * Wraps the schema of a string. Providers accept only objects, so the model is asked for an object with the string as its
 * only member. A tool that a provider defines gets the string itself.
 */
function wrapInObject({ jsonSchema, validate }: CompiledInput): CompiledInput {
  return {
    jsonSchema: {
      type: "object",
      properties: { [textMember]: jsonSchema },
      required: [textMember],
      additionalProperties: false,
    },
    validate: (value) => validate(unwrapText(value)),
  };
}

const textMember = "input";

function unwrapText(value: Json): Json {
  if (typeof value !== "object" || value === null || !(textMember in value)) return value;
  return Object.keys(value).length === 1 ? (value[textMember] ?? null) : value;
}

function compileAny(schema: InputSchema<unknown>, asSchema = toInputSchema): CompiledInput {
  if (schema === null || (typeof schema !== "object" && typeof schema !== "function"))
    throw unusableSchemaError(`it is ${schema === null ? "null" : `of type ${typeof schema}`}`);
  if (isStandardSchema(schema)) return compileStandardSchema(schema, asSchema);
  if (isAiSdkSchema(schema)) return compileAiSdkSchema(schema, asSchema);
  if (typeof schema === "function" || "_zod" in schema || "_def" in schema)
    throw unusableSchemaError("it is neither a Standard Schema nor a JSON Schema");
  const record = findRecordOfSchemas(schema);
  if (record !== null) throw unusableSchemaError(record);
  return compileJsonSchema(schema, asSchema);
}

/**
 * Why an object that is passed as a JSON Schema is not one; null if it may be one. MCP's SDK accepts a record of schemas. As a JSON Schema,
 * each of its members would be an unknown keyword, and any input would be accepted.
 */
function findRecordOfSchemas(schema: object): string | null {
  for (const [where, members] of [
    ["it", schema] as const,
    ["its member `properties`", pickProperties(schema)] as const,
  ]) {
    const found = Object.entries(members).find(([, member]) => isLibrarySchema(member));
    if (found === undefined) continue;
    const [name, member] = found;
    return `${where} is a record with the schema of ${JSON.stringify(name.slice(0, 100))}, not a schema itself: wrap it in ${suggestWrapper(member)}`;
  }
  return null;
}

function pickProperties(schema: object): object {
  const properties = "properties" in schema ? schema.properties : undefined;
  return typeof properties === "object" && properties !== null ? properties : {};
}

function isLibrarySchema(value: unknown): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return "~standard" in value || "_zod" in value || "_def" in value;
}

function suggestWrapper(member: unknown): string {
  const vendor = typeof member === "object" || typeof member === "function" ? getVendor(member as object) : "";
  if (vendor === "valibot") return "v.object({ … })";
  return vendor === "arktype" ? "type({ … })" : "z.object({ … })";
}

function getVendor(schema: object): unknown {
  const standard = "~standard" in schema ? schema["~standard"] : undefined;
  return typeof standard === "object" && standard !== null && "vendor" in standard ? standard.vendor : "";
}

type ToSchema = typeof toInputSchema;

function compileStandardSchema(schema: StandardSchemaV1<unknown, unknown>, asSchema: ToSchema): CompiledInput {
  const standard: StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props> = schema["~standard"];
  if (standard.jsonSchema === undefined)
    throw unusableSchemaError(`its library (${standard.vendor}) does not provide a JSON Schema`);
  let jsonSchema: unknown;
  try {
    jsonSchema = standard.jsonSchema.input({ target: "draft-07" });
  } catch (cause) {
    throw unusableSchemaError(
      `its library (${standard.vendor}) cannot convert it to JSON Schema: ${getErrorMessage(cause)}`,
      cause,
    );
  }
  const validate = guardValidate((value) => {
    const result = standard.validate(value);
    return isThenable(result) ? Promise.resolve(result).then(fromStandardResult) : fromStandardResult(result);
  });
  return { jsonSchema: asSchema(jsonSchema), validate };
}

function compileAiSdkSchema(schema: AiSdkSchema<unknown>, asSchema: ToSchema): CompiledInput {
  const { jsonSchema, validate } = schema;
  if (isThenable(jsonSchema))
    throw unusableSchemaError("its JSON Schema is a promise: await it, and pass `jsonSchema(await …)`");
  const plain = asSchema(jsonSchema);
  if (validate === undefined) return compileJsonSchema(plain, asSchema);
  const check = (value: Json): InputResult | Promise<InputResult> => {
    const result = validate(value);
    return isThenable(result) ? Promise.resolve(result).then(fromAiSdkResult) : fromAiSdkResult(result);
  };
  return { jsonSchema: plain, validate: guardValidate(check) };
}

type Library = typeof import("@cfworker/json-schema");

/** Loaded only for the first JSON Schema: otherwise the library would take a third of this package's import time. */
let library: Library | null = null;
let loading: Promise<Library> | null = null;

/**
 * Awaited before a session is driven. From then on all checks are synchronous, so that commits do not depend on timing.
 */
export function whileValidatorLoads(): Promise<unknown> | null {
  return library === null ? loading : null;
}

export function loadValidator(): Promise<Library> {
  loading ??= import("@cfworker/json-schema").then((loaded) => {
    library = loaded;
    return loaded;
  });
  return loading;
}

function compileJsonSchema(schema: JsonSchema, asSchema: ToSchema): CompiledInput {
  const jsonSchema = asSchema(schema);
  const measure = measureOrThrow(jsonSchema);
  const draft = String(schema.$schema ?? "").includes("2020-12") ? "2020-12" : "7";
  let validator: Validator | undefined;
  const loaded = loadValidator();
  const check = ({ Validator }: Library, value: Json): InputResult => {
    const checkNow = (): InputResult => {
      // A copy, because the validator writes into the schema.
      validator ??= new Validator(structuredClone(jsonSchema) as Schema, draft, false);
      const { valid, errors } = validator.validate(value);
      return valid ? { ok: true, value } : toIssues(errors, jsonSchema as Json, value);
    };
    return isCheap(measure, value) ? checkNow() : withTimeLimit(checkNow);
  };
  const validate = guardValidate((value) =>
    library === null ? loaded.then((it) => check(it, value)) : check(library, value),
  );
  return { jsonSchema, validate };
}

/** @throws PawlError `bad_configuration` if the schema is too large */
function measureOrThrow(schema: JsonSchema): SchemaMeasure {
  const measure = measureSchema(schema);
  if ("fault" in measure) throw unusableSchemaError(`its JSON Schema is out of bounds: ${measure.fault}`);
  return measure;
}

/** An amount of work that certainly takes at most a few milliseconds: schema values times checked values. */
const cheapWork = 100_000;

/** A time limit costs 0.1 ms, so a check that cannot take long has none. */
function isCheap({ weight, isLinear }: SchemaMeasure, value: Json): boolean {
  const maxWeight = cheapWork / weight;
  return isLinear && weighJson(value, maxWeight) <= maxWeight;
}

function guardValidate(validate: (value: Json) => InputResult | Promise<InputResult>): CompiledInput["validate"] {
  const failed = (cause: unknown) =>
    toFailedResult([{ path: "", message: `the input schema failed: ${getErrorMessage(cause)}` }]);
  return (value) => {
    try {
      const result = validate(value);
      return result instanceof Promise ? result.catch(failed) : result;
    } catch (cause) {
      return failed(cause);
    }
  };
}

/** Every provider requires an object schema, but reports an invalid schema only during a model call. */
function toInputSchema(schema: unknown): JsonSchema {
  const jsonSchema = toAnswerSchema(schema);
  if (jsonSchema.type !== undefined && jsonSchema.type !== "object" && jsonSchema.type !== "string")
    throw unusableSchemaError(`its JSON Schema is of type ${JSON.stringify(jsonSchema.type)}`);
  return jsonSchema.type === undefined ? { type: "object", ...jsonSchema } : jsonSchema;
}

function toAnswerSchema(schema: unknown): JsonSchema {
  let plain: Json;
  try {
    plain = normaliseJson(schema);
  } catch (cause) {
    throw unusableSchemaError(`its JSON Schema is not plain JSON: ${getErrorMessage(cause)}`, cause);
  }
  if (!isObject(plain)) throw unusableSchemaError("its JSON Schema is not an object");
  const { $schema: _dialect, ...jsonSchema } = plain as JsonSchema;
  measureOrThrow(jsonSchema);
  return jsonSchema;
}

function isStandardSchema(schema: object): schema is StandardSchemaV1<unknown, unknown> {
  return "~standard" in schema && typeof schema["~standard"] === "object";
}

function isAiSdkSchema(schema: object): schema is AiSdkSchema<unknown> {
  return Symbol.for("vercel.ai.schema") in schema || ("jsonSchema" in schema && "validate" in schema);
}

function fromStandardResult(result: StandardSchemaV1.Result<unknown>): InputResult {
  const { issues } = result;
  return issues === undefined
    ? { ok: true, value: (result as StandardSchemaV1.SuccessResult<unknown>).value }
    : toFailedResult(issues.map(fromStandardIssue));
}

function fromStandardIssue({ path = [], message }: StandardSchemaV1.Issue): InputIssue {
  const keys = path.map((segment) => (typeof segment === "object" ? segment.key : segment));
  return { path: formatPath(keys), message: String(message) };
}

/** `{ success, value }` or `{ success, error }`. The error, or its cause, may contain the library's issues. */
function fromAiSdkResult(result: unknown): InputResult {
  const { success, value, error } = result as { success?: unknown; value?: unknown; error?: unknown };
  if (success === true) return { ok: true, value };
  const { issues, cause } = Object(error) as { issues?: unknown; cause?: unknown };
  const found = [issues, cause, Object(cause).issues].find(
    (list) => Array.isArray(list) && list.every(isStandardIssue),
  );
  const message = error instanceof Error ? error.message : "does not fit the input schema";
  return toFailedResult(
    found === undefined ? [{ path: "", message }] : (found as StandardSchemaV1.Issue[]).map(fromStandardIssue),
  );
}

function isStandardIssue(issue: unknown): boolean {
  const { message, path } = Object(issue) as { message?: unknown; path?: unknown };
  return typeof message === "string" && (path === undefined || Array.isArray(path));
}

/**
 * The validator reports a fault once for each enclosing schema, outermost first. Only the innermost report says what is wrong.
 * A check may find many thousands of faults: only those that are shown are described.
 */
function toIssues(errors: readonly SchemaFault[], schema: Json, value: Json): InputResult {
  const innermost = errors.filter(({ keywordLocation }, index) => {
    const next = errors[index + 1];
    const isAround = next?.keyword === "false" || next?.keywordLocation.startsWith(`${keywordLocation}/`) === true;
    return !isAround;
  });
  const toIssue = (fault: SchemaFault): InputIssue => ({
    path: formatPath(toPath(fault.instanceLocation)),
    message: describeFault(fault, schema, value),
  });
  return toFailedResult(innermost.slice(0, maxIssues).map(toIssue), innermost.length);
}

function toPath(pointer: string): PropertyKey[] {
  return parsePointer(pointer).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}

function toFailedResult(issues: readonly InputIssue[], found = issues.length): InputResult {
  const more = found - maxIssues;
  const shown = issues
    .slice(0, maxIssues)
    .map(({ path, message }) => ({ path: truncateIssue(path), message: truncateIssue(message) }));
  return { ok: false, issues: more > 0 ? [...shown, { path: "", message: `and ${more} more` }] : shown };
}

/** An issue may quote the schema or the value, which may be long. */
function truncateIssue(text: string): string {
  return text.length > maxIssue ? `${text.slice(0, maxIssue)}…` : text;
}

function unusableSchemaError(what: string, cause?: unknown): PawlError {
  return new PawlError(
    "bad_configuration",
    `The input schema cannot be used: ${what}. Use an object schema of zod 4.2 or later (not zod/mini), of arktype, of valibot within ` +
      "toStandardJsonSchema() of @valibot/to-json-schema, or a JSON Schema of type object or string.",
    { cause },
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof Object(value).then === "function";
}
