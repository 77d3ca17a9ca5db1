/**
 * Generates the OpenAPI document from the routes and from the shapes that check requests.
 */
import { errorCodes } from "../index.js";
import { type ResponseContent, responseSchemas } from "./response-schemas.js";
import type { Route } from "./route.js";
import { type AnsweredCode, serverCodes, statusOf } from "./server-error.js";
import type { ObjectShape } from "./shape.js";

export function createOpenApiDocument(routes: readonly Route[], basePath: string): object {
  const paths: { [path: string]: { [method: string]: object } } = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: createOperation(route) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Pawl", version: "1", description: "Begin, watch, steer, answer and abort agent sessions." },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { ...responseSchemas, Error: errorSchema },
      responses: {
        Error: {
          description: "What went wrong, and what to do about it.",
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
      },
    },
  };
}

const codes: readonly AnsweredCode[] = [...errorCodes, ...serverCodes].sort();

const errorSchema = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: {
        code: {
          type: "string",
          description: "The kind of error. `x-status` has the HTTP status of each code.",
          enum: codes,
          "x-status": Object.fromEntries(codes.map((code) => [code, statusOf[code] ?? 500])),
        },
        message: { type: "string" },
        docs: { type: "string" },
        requestId: { type: "string" },
      },
      required: ["code", "message", "docs", "requestId"],
    },
  },
  required: ["error"],
};

function createOperation({
  path,
  summary,
  query,
  body,
  responses,
  content = {},
  scope,
  action,
  method,
}: Route): object {
  const pathParameters = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^a-zA-Z0-9]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    ...(scope === null ? { security: [] } : { description: `Scope \`${scope}\`, action \`${action}\`.` }),
    parameters: [...pathParameters, ...createQueryParameters(query)],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: body === "json" ? {} : body } } } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, description]) => [
          status,
          { description, ...createContent(content[Number(status)] ?? []) },
        ]),
      ),
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

function createContent(content: ResponseContent | readonly ResponseContent[]): object {
  const contents = [content].flat();
  if (contents.length === 0) return {};
  const entries = contents.map(({ type, schema }) => [type, schema === undefined ? {} : { schema }]);
  return { content: Object.fromEntries(entries) };
}

function createQueryParameters(query: ObjectShape | undefined): readonly object[] {
  return Object.entries(query?.properties ?? {}).map(([name, { description = "", ...schema }]) => ({
    name,
    in: "query",
    required: query?.required?.includes(name) === true,
    description,
    schema,
  }));
}
