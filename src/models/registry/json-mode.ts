/**
 * Requests JSON in the strictest form that a server supports: with a schema, else as any JSON, else by the prompt alone.
 *
 * If a server refuses a form, the same request is sent again with the next form. The accepted form is remembered, so a server
 * refuses each form only once.
 */
import { readText } from "./server-requests.js";

type Fetch = typeof globalThis.fetch;

/** The forms of a request for JSON, in the order in which they are tried. */
const jsonForms = ["schema", "any_json", "prompt"] as const;
type JsonForm = (typeof jsonForms)[number];

export function withJsonFallback(fetch: Fetch): Fetch {
  let form: JsonForm = "schema";
  return async (input, init) => {
    const schemaRequest = parseSchemaRequest(init?.body);
    if (schemaRequest === undefined) return fetch(input, init);
    for (;;) {
      const response = await fetch(input, { ...init, body: formatBody(form, schemaRequest) });
      const next = jsonForms[jsonForms.indexOf(form) + 1];
      if (next === undefined || !(await refusesForm(response))) return response;
      await response.body?.cancel();
      form = next;
    }
  };
}

type SchemaRequest = { readonly response_format: { readonly type: string }; readonly [key: string]: unknown };

/** Parses a request for JSON with a schema; undefined for other requests. */
function parseSchemaRequest(body: unknown): SchemaRequest | undefined {
  if (typeof body !== "string" || !body.includes('"json_schema"')) return undefined;
  const request = JSON.parse(body) as Partial<SchemaRequest>;
  return request.response_format?.type === "json_schema" ? (request as SchemaRequest) : undefined;
}

function formatBody(form: JsonForm, { response_format, ...request }: SchemaRequest): string {
  switch (form) {
    case "schema":
      return JSON.stringify({ ...request, response_format });
    case "any_json":
      return JSON.stringify({ ...request, response_format: { type: "json_object" } });
    case "prompt":
      return JSON.stringify(request);
  }
}

/** The statuses with which servers refuse a request that they do not understand. */
const refusalStatuses: ReadonlySet<number> = new Set([400, 404, 415, 422, 500, 501]);
const formPattern = /response_format|json_schema|json_object|structured output|grammar|schema/i;
const maxBytes = 64 * 1024;

/** Whether the server refuses this form of the request. The response can still be read. */
async function refusesForm(response: Response): Promise<boolean> {
  if (!refusalStatuses.has(response.status)) return false;
  return formPattern.test((await readText(response.clone(), maxBytes)) ?? "");
}
