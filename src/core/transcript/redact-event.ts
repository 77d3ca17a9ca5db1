/**
 * Replaces content in a log: text of people, models and tools, but nothing that the machine depends on.
 *
 * 1. The structure stays: the number of parts, calls and messages does not change, so an entry still has the same number of public events.
 * 2. Ids, tool names, states and hashes are not content. Hashes and blobs of changed content are replaced by those of the new content, so
 *    that the log stays consistent.
 * 3. A changed part loses its provider metadata, because a signature or an id there refers to the removed text.
 */
import type { Json, Message } from "../data/message.js";
import type { Event } from "../machine/event.js";
import type { InboxBody } from "../machine/inbox.js";
import type { State } from "../machine/state.js";
import { blobScheme } from "./blob-references.js";

/** The replacement of a blob. */
export type ReplacedBlob = {
  readonly hash: string;
  readonly bytes: number;
  /** Whether nothing of the former blob is left. A file with this content cannot stay a file. */
  readonly isErased: boolean;
};

/** How content is replaced. */
export type Replacement = {
  /** Text of a person, a model or a tool. `field` is its name in the log. */
  readonly text: (text: string, field: string) => string;
  /** Data of any shape: the input of a call, a result, a value. `field` is its name in the log. */
  readonly json: (value: Json, field: string) => Json;
  /** The base64 of a file; null if the file cannot stay. */
  readonly file: (data: string) => string | null;
  /** Whether to remove every file, whatever its content. */
  readonly allFiles: boolean;
  /** The replacement for a file that is removed: text, and the same text as base64. */
  readonly mark: { readonly text: string; readonly base64: string };
  /** The replaced blobs, by their former hash. */
  readonly blobs: ReadonlyMap<string, ReplacedBlob>;
  /** The hashes of replaced inputs. Changing an input adds its hash. */
  readonly hashes: Map<string, string>;
  readonly hashInput: (input: Json) => string;
};

type PlainObject = { readonly [field: string]: Json };

/** Fields whose strings are content, wherever they occur. */
const contentFields: ReadonlySet<string> = new Set([
  ...["text", "message", "note", "title", "keep", "summary", "question", "problem", "systemPrompt", "filename", "url"],
  ...["invalid", "description", "warnings", "retained", "stopSequences", "cause", "unset"],
]);
/** Fields with data of any shape. */
const freeFormFields: ReadonlySet<string> = new Set([
  "value",
  "set",
  "providerMetadata",
  "providerOptions",
  "params",
  "schema",
]);

/**
 * The event with its content replaced; the same object if nothing changed.
 * @param callPosition only this call of the message, counted from 1 as in a call key
 */
export function redactEvent(event: Event, how: Replacement, callPosition?: number): Event {
  const object = event as unknown as PlainObject;
  const context: WalkContext = { how, parent: event.type, role: "" };
  if (callPosition === undefined || event.type !== "model_finished")
    return walkObject(object, context) as unknown as Event;
  const message = object.message as PlainObject;
  const parts = redactCall(message.parts as readonly PlainObject[], callPosition, { ...context, role: "assistant" });
  return parts === message.parts ? event : ({ ...object, message: { ...message, parts } } as unknown as Event);
}

/** The same for a message stored in a blob. */
export function redactMessage(message: Message, how: Replacement): Message {
  return walkObject(message as unknown as PlainObject, { how, parent: "message", role: "" }) as unknown as Message;
}

/** The same for an inbox message that is not in the log yet. */
export function redactInboxBody<Body extends InboxBody>(body: Body, how: Replacement): Body {
  return walkObject(body as unknown as PlainObject, { how, parent: body.type, role: "" }) as unknown as Body;
}

/** The state with its content replaced; the same object if nothing changed. */
export function redactState(state: State, how: Replacement): State {
  return walkObject(state as unknown as PlainObject, { how, parent: "state", role: "" }) as unknown as State;
}

type WalkContext = {
  readonly how: Replacement;
  /** The field that holds the object, or the type of the event. */
  readonly parent: string;
  /** The role of the enclosing message; empty outside messages. */
  readonly role: string;
};

function walk(value: Json, field: string, context: WalkContext): Json {
  if (typeof value === "string") return walkString(value, field, context);
  if (value === null) return value;
  if (isFreeForm(field, context.parent)) return context.how.json(value, field);
  if (typeof value !== "object") return value;
  if (!Array.isArray(value)) return walkObject(value as PlainObject, { ...context, parent: field });
  return keepIfSame(
    value,
    (value as readonly Json[]).map((item) =>
      typeof item === "string" ? walkString(item, field, context) : walk(item, field, context),
    ),
  );
}

/** Returns the original array unless one of its members changed. */
function keepIfSame<Values extends readonly Json[]>(before: Values, after: readonly Json[]): readonly Json[] {
  return after.every((item, index) => item === before[index]) ? before : after;
}

function isFreeForm(field: string, parent: string): boolean {
  if (freeFormFields.has(field)) return true;
  // The answer of a run, or the schema that was requested for it. A tool's output has a structure that the log defines.
  if (field === "output") return parent === "run_finished" || parent === "options";
  // The input of a tool call. Elsewhere, `input` is a list of messages.
  return field === "input" && (parent === "decision" || parent === "answer" || parent === "tool_call");
}

function walkString(value: string, field: string, { how, parent }: WalkContext): string {
  if (isFreeForm(field, parent)) return how.json(value, field) as string;
  // The requests of a compaction refer to blobs.
  if (contentFields.has(field) && parent !== "requests") return how.text(value, field);
  if (field === "reason" && (parent === "decision" || parent === "approval")) return how.text(value, field);
  return how.blobs.get(value)?.hash ?? how.hashes.get(value) ?? value;
}

function walkObject(object: PlainObject, context: WalkContext): PlainObject {
  const { how } = context;
  if (object.type === "file" && typeof object.data === "string") return walkFile(object, object.data, context);
  const parent = object.type === "tool_call" ? "tool_call" : context.parent;
  const role = typeof object.role === "string" ? object.role : context.role;
  const entries = Object.entries(object).map(
    ([field, value]) => [field, walk(value, field, { how, parent, role })] as const,
  );
  if (entries.every(([field, value]) => value === object[field])) return object;
  const changed: { [field: string]: Json } = Object.fromEntries(entries);
  recordInputHash(object, changed, how);
  const blob = typeof object.blob === "string" ? how.blobs.get(object.blob) : undefined;
  if (blob !== undefined && typeof object.bytes === "number") changed.bytes = blob.bytes;
  if (isPart(object) && hasContentChanged(object, changed)) delete changed.providerMetadata;
  return changed;
}

/** The hash of an input identifies the approved input, and would allow its text to be guessed. */
function recordInputHash(before: PlainObject, after: PlainObject, { hashes, hashInput }: Replacement): void {
  const { input } = before;
  const newInput = after.input;
  if (input === undefined || newInput === undefined || input === newInput) return;
  if (before.type === "tool_call" || before.verdict !== undefined || before.type === "modify")
    hashes.set(hashInput(input), hashInput(newInput));
  // The hash is next to its input.
  const known = typeof before.inputHash === "string" ? hashes.get(before.inputHash) : undefined;
  if (known !== undefined) (after as { inputHash?: Json }).inputHash = known;
}

const partTypes: ReadonlySet<unknown> = new Set(["text", "reasoning", "source", "tool_call", "tool_result"]);

function isPart(object: PlainObject): boolean {
  return partTypes.has(object.type) && object.providerMetadata !== undefined;
}

function hasContentChanged(before: PlainObject, after: PlainObject): boolean {
  return Object.keys(before).some((field) => field !== "providerMetadata" && before[field] !== after[field]);
}

/** A model's file stays a file, because a model's text would be an additional public event. */
function walkFile(part: PlainObject, data: string, { how, role }: WalkContext): PlainObject {
  const changed = replaceFile(data, how);
  if (changed === null && role === "assistant") return { type: "file", mediaType: "text/plain", data: how.mark.base64 };
  if (changed === null) return { type: "text", text: how.mark.text };
  const filename = typeof part.filename === "string" ? how.text(part.filename, "filename") : undefined;
  if (changed === data && filename === part.filename) return part;
  const { providerMetadata: _, ...rest } = part;
  return { ...rest, data: changed, ...(filename === undefined ? {} : { filename }) };
}

function replaceFile(data: string, how: Replacement): string | null {
  if (how.allFiles) return null;
  if (/^https?:/i.test(data.slice(0, 8))) {
    const url = how.text(data, "url");
    // A URL that was masked completely is removed.
    return url === how.mark.text ? null : url;
  }
  if (!data.startsWith(blobScheme)) return how.file(data);
  const blob = how.blobs.get(data.slice(blobScheme.length).split("/")[0] ?? "");
  if (blob?.isErased === true) return null;
  return blob === undefined ? data : `${blobScheme}${blob.hash}/${blob.bytes}`;
}

function redactCall(parts: readonly PlainObject[], position: number, context: WalkContext): readonly PlainObject[] {
  let calls = 0;
  const changed = parts.map((part) => {
    if (part.type !== "tool_call" || (part.providerExecuted === true && part.approvalId === undefined)) return part;
    calls += 1;
    return calls === position ? walkObject(part, context) : part;
  });
  return changed.every((part, index) => part === parts[index]) ? parts : changed;
}
