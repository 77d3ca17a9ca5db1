/**
 * Checks answers of a server against its OpenAPI document.
 */
import { Validator } from "@cfworker/json-schema";

type Content = { readonly [type: string]: { readonly schema?: object } };
type Operation = {
  readonly responses: { readonly [status: string]: { readonly content?: Content; readonly $ref?: string } };
};
export type OpenApiDocument = {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly schemas: { readonly Error?: object } };
};

export type CheckedAnswer = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly type: string | null;
  /** Undefined for streams, which are not read here. */
  readonly text?: string;
};

type ErrorSchema = {
  readonly properties: {
    readonly error: {
      readonly properties: {
        readonly code: { readonly enum: readonly string[]; readonly "x-status": { readonly [code: string]: number } };
      };
    };
  };
};

/** The status of each code, as the document has it. */
export function statusesIn({ components }: OpenApiDocument): { readonly [code: string]: number } {
  return (components.schemas.Error as ErrorSchema).properties.error.properties.code["x-status"];
}

/** The codes that the document knows. */
export function codesIn({ components }: OpenApiDocument): readonly string[] {
  return (components.schemas.Error as ErrorSchema).properties.error.properties.code.enum;
}

/** Throws if the document does not describe this answer. @returns the route that it is an answer of; null for none */
export function createAnswerCheck(document: OpenApiDocument, basePath = ""): (answer: CheckedAnswer) => string | null {
  const validators = new Map<string, Validator>();
  const patterns = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
  }));

  function validator(key: string, schema: object): Validator {
    const made = validators.get(key) ?? new Validator({ ...schema, components: document.components }, "2020-12", false);
    validators.set(key, made);
    return made;
  }

  /** Each code has one status, which the document says. */
  function checkError(key: string, status: number, text: string): void {
    checkJson("error", { $ref: "#/components/schemas/Error" }, text);
    const { code } = (JSON.parse(text) as { readonly error: { readonly code: string } }).error;
    const expected = statusesIn(document)[code];
    if (expected !== status) throw new Error(`${key}: the code ${code} has the status ${expected}.`);
  }

  function checkJson(key: string, schema: object, text: string): void {
    const { valid, errors } = validator(key, schema).validate(JSON.parse(text));
    if (!valid) throw new Error(`${key} does not fit: ${JSON.stringify(errors.slice(-3))}\n${text.slice(0, 500)}`);
  }

  return ({ method, path, status, type, text }) => {
    const rest = path.slice(basePath.length).split("?", 1)[0] ?? "";
    const found = patterns.find(
      (one) => one.pattern.test(rest) && document.paths[one.path]?.[method.toLowerCase()] !== undefined,
    );
    const plainType = type?.split(";", 1)[0] ?? null;
    const operation = found === undefined ? undefined : document.paths[found.path]?.[method.toLowerCase()];
    const key = `${method} ${found?.path ?? rest} ${status}`;
    const answer = operation?.responses[String(status)];
    if (answer === undefined) {
      // Everything else is an error, also at addresses that there are not.
      if (status < 400) throw new Error(`${key} is not described.`);
      if (plainType !== "application/json") throw new Error(`${key} is ${plainType}, and not JSON.`);
      checkError(key, status, text ?? "");
      return null;
    }
    const { content } = answer;
    if (content === undefined) {
      if (text !== undefined && text !== "") throw new Error(`${key} has a body.`);
      return found?.path === undefined ? null : `${method} ${found.path}`;
    }
    const described = content[plainType ?? ""];
    if (described === undefined)
      throw new Error(`${key} is ${plainType}; it should be ${Object.keys(content).join(" or ")}.`);
    if (described.schema !== undefined && text !== undefined) checkJson(key, described.schema, text);
    return found?.path === undefined ? null : `${method} ${found.path}`;
  };
}
