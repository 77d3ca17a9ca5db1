/**
 * Results that the MCP library would refuse. It validates a whole list before Pawl sees it, so one invalid tool would make the
 * server unreachable; and it does not know results of the type `task`. The transport moves the items of a list, and the task,
 * into `_meta`, which the library passes on without validation.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

/** The lists of the protocol, by field name. */
export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts";

const listNames: readonly ListName[] = ["tools", "resources", "resourceTemplates", "prompts"];
const listKey = "pawl/list";
const taskKey = "pawl/task";

/** Unchecked data of a server. */
type Untrusted = { readonly [field: string]: unknown };

/** Changes the transport, and returns it. Call this before a client connects to it. */
export function passRawResults(transport: Transport): Transport {
  let receive: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    configurable: true,
    get: () =>
      receive === undefined ? undefined : (message: JSONRPCMessage, extra: never) => receive?.(wrap(message), extra),
    set(handler: Transport["onmessage"]) {
      receive = handler;
    },
  });
  return transport;
}

function wrap(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message)) return message;
  const { _meta, ...rest } = Object(message.result) as Untrusted;
  if (rest.resultType === "task") {
    const { taskId, pollIntervalMs } = rest;
    const meta = { ...Object(_meta), [taskKey]: { taskId, pollIntervalMs } };
    return { ...message, result: { resultType: "complete", content: [], _meta: meta } };
  }
  const name = listNames.find((one) => Array.isArray(rest[one]));
  if (name === undefined) return message;
  return { ...message, result: { ...rest, [name]: [], _meta: { ...Object(_meta), [listKey]: rest[name] } } };
}

/** Returns the items of a page of a list, unchecked; undefined if the page has no list. */
export function readRawList(page: unknown): readonly unknown[] | undefined {
  const { _meta } = Object(page) as Untrusted;
  const items = (Object(_meta) as Untrusted)[listKey];
  return Array.isArray(items) ? items : undefined;
}

/** Returns the task in the result of a call, unchecked; undefined if the server has answered with another result. */
export function readRawTask({ _meta }: { readonly _meta?: unknown }): unknown {
  return (Object(_meta) as Untrusted)[taskKey];
}
