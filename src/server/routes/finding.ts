/**
 * Finding a text in a session: in what was said and asked, in the inputs of calls and in their results.
 */

import type { Json, PublicEvent, ToolOutput, UserMessage } from "../../index.js";
import { beginning, cursorAfter, formatCursor } from "../../stream/cursor.js";
import { answers } from "../answer-shapes.js";
import type { Asked, Route } from "../route.js";
import { type ServerContext, sessionFor, shown } from "../server-context.js";
import { objectOf, text, whole } from "../shape.js";
import { eventCursor } from "./paging.js";

export const findingRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/sessions/:id/find",
    action: "read",
    scope: "read",
    ofSession: true,
    about:
      "Events of a session that have a text, in whatever case: in requests, in what the model wrote, in inputs and results of calls. A request looks at a bounded number of events, so a page may be empty and have a next one.",
    query: objectOf(
      {
        q: text("The text.", 200),
        after: text("The `next` of the page before, or a place among the events.", 40),
        limit: whole("The most matches.", 1, 200),
      },
      ["q"],
    ),
    gives: { 200: "{ matches, next }: `before` and `after` are the words around the match; `next` is null at the end" },
    answers: { 200: answers.matches },
    handle: find,
  },
];

/** Events, and characters, that one request looks at. */
const mostLookedAt = 5_000;
const mostCharacters = 4_000_000;

/** The words around a match, in characters. */
const around = 60;

type Where = "request" | "text" | "reasoning" | "call" | "result" | "summary";

async function find({ principal, params, query }: Asked, context: ServerContext) {
  const { session } = await sessionFor(context, principal, "read", params.id ?? "");
  const { q, after, limit = 50 } = query as { readonly q: string; readonly after?: string; readonly limit?: number };
  const wanted = q.toLowerCase();
  const matches: unknown[] = [];
  let cursor = eventCursor(after) ?? beginning;
  let looked = 0;
  let characters = 0;
  for await (const item of session.events({ follow: false, after: formatCursor(cursor) })) {
    if (!("seq" in item)) continue;
    cursor = cursorAfter(item);
    looked += 1;
    // Secrets are taken out first: they cannot be found.
    const event = shown(context, item) as PublicEvent;
    for (const [where, words] of textsOf(event)) {
      characters += words.length;
      const at = words.toLowerCase().indexOf(wanted);
      if (at === -1 || matches.length >= limit) continue;
      matches.push({ ...placedIn(event), where, ...matchIn(words, at, wanted.length) });
      break;
    }
    if (matches.length >= limit || looked >= mostLookedAt || characters >= mostCharacters)
      return { status: 200, json: { matches, next: formatCursor(cursor) } } as const;
  }
  return { status: 200, json: { matches, next: null } } as const;
}

/** What a list of matches shows of an event, and what leads to its step. */
function placedIn(event: PublicEvent) {
  const { seq, index, at, type } = event;
  return {
    ...{ seq, index, at, type },
    ...("runId" in event && event.runId !== undefined ? { runId: event.runId } : {}),
    ...("modelCallIndex" in event ? { modelCallIndex: event.modelCallIndex } : {}),
    ...("callKey" in event && event.callKey !== undefined ? { callKey: event.callKey } : {}),
    ...("name" in event ? { name: event.name } : {}),
  };
}

/** A text in another case may have another length: then the words are those of its beginning. */
function matchIn(words: string, at: number, length: number) {
  const start = words.toLowerCase().length === words.length ? at : 0;
  return {
    before: whitespaceOnce(words.slice(Math.max(0, start - around), start)),
    match: words.slice(start, start + length),
    after: whitespaceOnce(words.slice(start + length, start + length + 2 * around)),
  };
}

function whitespaceOnce(words: string): string {
  return words.replace(/\s+/g, " ");
}

/** The words of an event. Those of a message come with the message alone. */
function textsOf(event: PublicEvent): readonly (readonly [where: Where, words: string])[] {
  switch (event.type) {
    case "run_started":
    case "run_queued":
    case "steered":
      return [["request", wordsOf(event.input)]];
    case "message":
      return event.message.parts.flatMap((part): readonly (readonly [Where, string])[] =>
        part.type === "text" || part.type === "reasoning" ? [[part.type, part.text]] : [],
      );
    case "tool_call":
      return [["call", `${event.name} ${wordsIn(event.input)}`]];
    case "tool_result":
    case "late_result":
      return [event.output, event.returned].flatMap((output): readonly (readonly [Where, string])[] =>
        output === undefined ? [] : [["result", outputWords(output)]],
      );
    case "compacted":
      return event.summary === undefined ? [] : [["summary", event.summary]];
    default:
      return [];
  }
}

function wordsOf(input: readonly UserMessage[]): string {
  return input
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n");
}

/** The texts of an input as a person reads them, without the signs of JSON in them. */
function wordsIn(value: Json): string {
  if (typeof value !== "object" || value === null) return String(value);
  const isList = Array.isArray(value);
  return Object.entries(value)
    .map(([name, one]) => (isList ? wordsIn(one) : `${name} ${wordsIn(one)}`))
    .join(" ");
}

function outputWords(output: ToolOutput): string {
  if (output.type === "text") return output.text;
  if (output.type === "json") return wordsIn(output.value);
  return output.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
