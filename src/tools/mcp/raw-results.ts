/**
 * Results that the MCP library would refuse. It checks the shape of a whole list before Pawl sees it, so one bad tool would
 * make the whole server unreachable. A transport moves such content into `_meta`, which the library hands on unread.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

/** The lists of the protocol, by the name of their field. */
export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts";

const listNames: readonly ListName[] = ["tools", "resources", "resourceTemplates", "prompts"];
const listKey = "pawl/list";

/** What a server says. It may have any shape. */
type Untrusted = { readonly [field: string]: unknown };

/** Changes the transport, and returns it. Use it before a client connects to the transport. */
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
  const name = listNames.find((one) => Array.isArray(rest[one]));
  if (name === undefined) return message;
  return { ...message, result: { ...rest, [name]: [], _meta: { ...Object(_meta), [listKey]: rest[name] } } };
}

/** The items of one page of a list, as the server wrote them. Undefined if the page has no list. */
export function readRawList(page: unknown): readonly unknown[] | undefined {
  const { _meta } = Object(page) as Untrusted;
  const items = (Object(_meta) as Untrusted)[listKey];
  return Array.isArray(items) ? items : undefined;
}
