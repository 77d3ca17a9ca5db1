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

export type CheckedResponse = {
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
export function listStatuses({ components }: OpenApiDocument): { readonly [code: string]: number } {
  return (components.schemas.Error as ErrorSchema).properties.error.properties.code["x-status"];
}

/** The codes that the document knows. */
export function listCodes({ components }: OpenApiDocument): readonly string[] {
  return (components.schemas.Error as ErrorSchema).properties.error.properties.code.enum;
}

/** Throws if the document does not describe this answer. @returns the route that it is an answer of; null for none */
export function createResponseCheck(
  document: OpenApiDocument,
  basePath = "",
): (response: CheckedResponse) => string | null {
  const validators = new Map<string, Validator>();
  const patterns = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
  }));

  function getValidator(key: string, schema: object): Validator {
    const compiled =
      validators.get(key) ?? new Validator({ ...schema, components: document.components }, "2020-12", false);
    validators.set(key, compiled);
    return compiled;
  }

  /** Each code has one status, which the document says. */
  function checkError(key: string, status: number, text: string): void {
    checkJson("error", { $ref: "#/components/schemas/Error" }, text);
    const { code } = (JSON.parse(text) as { readonly error: { readonly code: string } }).error;
    const expected = listStatuses(document)[code];
    if (expected !== status) throw new Error(`${key}: the code ${code} has the status ${expected}.`);
  }

  function checkJson(key: string, schema: object, text: string): void {
    const { valid, errors } = getValidator(key, schema).validate(JSON.parse(text));
    if (!valid) throw new Error(`${key} does not fit: ${JSON.stringify(errors.slice(-3))}\n${text.slice(0, 500)}`);
  }

  return ({ method, path, status, type, text }) => {
    const pathname = path.slice(basePath.length).split("?", 1)[0] ?? "";
    const match = patterns.find(
      (candidate) =>
        candidate.pattern.test(pathname) && document.paths[candidate.path]?.[method.toLowerCase()] !== undefined,
    );
    const plainType = type?.split(";", 1)[0] ?? null;
    const operation = match === undefined ? undefined : document.paths[match.path]?.[method.toLowerCase()];
    const key = `${method} ${match?.path ?? pathname} ${status}`;
    const response = operation?.responses[String(status)];
    if (response === undefined) {
      // Everything else is an error, also at addresses that there are not.
      if (status < 400) throw new Error(`${key} is not described.`);
      if (plainType !== "application/json") throw new Error(`${key} is ${plainType}, and not JSON.`);
      checkError(key, status, text ?? "");
      return null;
    }
    const { content } = response;
    if (content === undefined) {
      if (text !== undefined && text !== "") throw new Error(`${key} has a body.`);
      return match?.path === undefined ? null : `${method} ${match.path}`;
    }
    const mediaType = content[plainType ?? ""];
    if (mediaType === undefined)
      throw new Error(`${key} is ${plainType}; it should be ${Object.keys(content).join(" or ")}.`);
    if (mediaType.schema !== undefined && text !== undefined) checkJson(key, mediaType.schema, text);
    return match?.path === undefined ? null : `${method} ${match.path}`;
  };
}
