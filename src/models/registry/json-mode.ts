/**
 * Asks a server for JSON in the strictest form that it understands: by a schema, else as any JSON, else by the prompt alone.
 *
 * A server that refuses a form gets the same request with the next one. The form that it took is kept, so a server refuses each only once.
 */
import { readText } from "./ask-server.js";

type Fetch = typeof globalThis.fetch;

/** How strictly JSON is asked for, in the order in which the forms are tried. */
const forms = ["schema", "any_json", "prompt"] as const;
type Form = (typeof forms)[number];

export function withJsonForms(fetch: Fetch): Fetch {
  let form: Form = "schema";
  return async (input, init) => {
    const asked = requestWithSchema(init?.body);
    if (asked === undefined) return fetch(input, init);
    for (;;) {
      const response = await fetch(input, { ...init, body: bodyIn(form, asked) });
      const next = forms[forms.indexOf(form) + 1];
      if (next === undefined || !(await refusesForm(response))) return response;
      await response.body?.cancel();
      form = next;
    }
  };
}

type AskedRequest = { readonly response_format: { readonly type: string }; readonly [key: string]: unknown };

/** The request, if it asks for JSON by a schema. */
function requestWithSchema(body: unknown): AskedRequest | undefined {
  if (typeof body !== "string" || !body.includes('"json_schema"')) return undefined;
  const request = JSON.parse(body) as Partial<AskedRequest>;
  return request.response_format?.type === "json_schema" ? (request as AskedRequest) : undefined;
}

function bodyIn(form: Form, { response_format, ...request }: AskedRequest): string {
  switch (form) {
    case "schema":
      return JSON.stringify({ ...request, response_format });
    case "any_json":
      return JSON.stringify({ ...request, response_format: { type: "json_object" } });
    case "prompt":
      return JSON.stringify(request);
  }
}

/** Statuses with which servers refuse a request that they do not understand. */
const refusals: ReadonlySet<number> = new Set([400, 404, 415, 422, 500, 501]);
const aboutForm = /response_format|json_schema|json_object|structured output|grammar|schema/i;
const mostBytes = 64 * 1024;

/** Whether the server refuses how JSON is asked for. The response can still be read. */
async function refusesForm(response: Response): Promise<boolean> {
  if (!refusals.has(response.status)) return false;
  return aboutForm.test((await readText(response.clone(), mostBytes)) ?? "");
}
