/**
 * Searches the text of a session: requests, messages, and the inputs and results of calls.
 */

import type { Json, PublicEvent, ToolOutput, UserMessage } from "../../index.js";
import { cursorAfter, formatCursor, startCursor } from "../../stream/cursor.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { authorizeSession, redactSecrets, type ServerContext } from "../server-context.js";
import { integer, object, string } from "../shape.js";
import { parseEventCursor } from "./paging.js";

export const findingRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions/:id/find",
    action: "read",
    scope: "read",
    ofSession: true,
    summary:
      "Searches a session's events for a text, ignoring case: in requests, in the model's messages, and in the inputs and results of calls. A request examines a bounded number of events, so a page may be empty even if another one follows.",
    query: object(
      {
        q: string("The text to find.", 200),
        after: string("The `next` of the previous page, or any cursor.", 40),
        limit: integer("The maximum number of matches.", 1, 200),
      },
      ["q"],
    ),
    responses: {
      200: "{ matches, next }: `before` and `after` are the text around the match; `next` is null at the end",
    },
    content: { 200: responseContents.matches },
    handle: findText,
  },
];

/** The maximum numbers of events and characters that a request examines. */
const maxExamined = 5_000;
const maxCharacters = 4_000_000;

/** The context around a match, in characters. */
const contextCharacters = 60;

type MatchField = "request" | "text" | "reasoning" | "call" | "result" | "summary";

async function findText({ principal, params, query }: RouteRequest, context: ServerContext) {
  const { session } = await authorizeSession(context, principal, "read", params.id ?? "");
  const { q, after, limit = 50 } = query as { readonly q: string; readonly after?: string; readonly limit?: number };
  const needle = q.toLowerCase();
  const matches: unknown[] = [];
  let cursor = parseEventCursor(after) ?? startCursor;
  let examined = 0;
  let characters = 0;
  for await (const item of session.events({ follow: false, after: formatCursor(cursor) })) {
    if (!("seq" in item)) continue;
    cursor = cursorAfter(item);
    examined += 1;
    // Secrets are redacted first, so they cannot be found.
    const event = redactSecrets(context, item) as PublicEvent;
    for (const [field, words] of listTexts(event)) {
      characters += words.length;
      const at = words.toLowerCase().indexOf(needle);
      if (at === -1 || matches.length >= limit) continue;
      matches.push({ ...pickMatchFields(event), where: field, ...excerptMatch(words, at, needle.length) });
      break;
    }
    if (matches.length >= limit || examined >= maxExamined || characters >= maxCharacters)
      return { status: 200, json: { matches, next: formatCursor(cursor) } } as const;
  }
  return { status: 200, json: { matches, next: null } } as const;
}

/** The fields of an event that a list of matches shows, and the fields that identify its step. */
function pickMatchFields(event: PublicEvent) {
  const { seq, index, at, type } = event;
  return {
    seq,
    index,
    at,
    type,
    ...("runId" in event && event.runId !== undefined ? { runId: event.runId } : {}),
    ...("modelCallIndex" in event ? { modelCallIndex: event.modelCallIndex } : {}),
    ...("callKey" in event && event.callKey !== undefined ? { callKey: event.callKey } : {}),
    ...("name" in event ? { name: event.name } : {}),
  };
}

/** If the text in lower case has another length, positions do not match, and the excerpt is the beginning of the text. */
function excerptMatch(words: string, at: number, length: number) {
  const start = words.toLowerCase().length === words.length ? at : 0;
  return {
    before: collapseWhitespace(words.slice(Math.max(0, start - contextCharacters), start)),
    match: words.slice(start, start + length),
    after: collapseWhitespace(words.slice(start + length, start + length + 2 * contextCharacters)),
  };
}

function collapseWhitespace(words: string): string {
  return words.replace(/\s+/g, " ");
}

/** Lists the texts of an event. A message's text is taken only from the event `message`. */
function listTexts(event: PublicEvent): readonly (readonly [where: MatchField, words: string])[] {
  switch (event.type) {
    case "run_started":
    case "run_queued":
    case "steered":
      return [["request", textOfInput(event.input)]];
    case "message":
      return event.message.parts.flatMap((part): readonly (readonly [MatchField, string])[] =>
        part.type === "text" || part.type === "reasoning" ? [[part.type, part.text]] : [],
      );
    case "tool_call":
      return [["call", `${event.name} ${textOfJson(event.input)}`]];
    case "tool_result":
    case "late_result":
      return [event.output, event.returned].flatMap((output): readonly (readonly [MatchField, string])[] =>
        output === undefined ? [] : [["result", textOfOutput(output)]],
      );
    case "compacted":
      return event.summary === undefined ? [] : [["summary", event.summary]];
    default:
      return [];
  }
}

function textOfInput(input: readonly UserMessage[]): string {
  return input
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");
}

/** Formats an input as readable text, without JSON syntax. */
function textOfJson(value: Json): string {
  if (typeof value !== "object" || value === null) return String(value);
  const isList = Array.isArray(value);
  return Object.entries(value)
    .map(([name, member]) => (isList ? textOfJson(member) : `${name} ${textOfJson(member)}`))
    .join(" ");
}

function textOfOutput(output: ToolOutput): string {
  if (output.type === "text") return output.text;
  if (output.type === "json") return textOfJson(output.value);
  return output.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
