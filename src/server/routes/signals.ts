/**
 * Signals over HTTP, from programs that have a token of the server.
 */
import type { Json } from "../../index.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { anyJson, integer, object, string } from "../shape.js";

export const signalRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/signals/:key",
    action: "signal",
    scope: "signal",
    summary:
      "Sends a signal to the tools that wait for this key. Only servers with the option `canSignal` have this route; others respond with 404.",
    body: object({
      value: anyJson("The value that the tools get, at most 64 KiB. Default: null."),
      id: string(
        "Deduplicates signals: an id, for example of a delivery, counts once for its key while the signal is kept.",
        500,
      ),
      keepMs: integer(
        "How long the signal is kept for tools that begin to wait later, in milliseconds. Default: 7 days.",
        0,
        400 * 86_400_000,
      ),
    }),
    responses: { 202: "{ id, isNew }: `isNew` is false for an id that was sent before" },
    content: { 202: responseContents.signalled },
    handle: sendSignal,
  },
];

async function sendSignal({ principal, params, body }: RouteRequest, { settings, client }: ServerContext) {
  const { canSignal } = settings;
  if (canSignal === null)
    throw new ServerError("not_found", "Signals are not enabled on this server. They need the option `canSignal`.");
  const key = params.key ?? "";
  const { value = null, ...options } = body as {
    readonly value?: Json;
    readonly id?: string;
    readonly keepMs?: number;
  };
  if (!(await canSignal({ principal, key, value })))
    throw new ServerError("signal_refused", `You are not allowed to send signals with the key ${JSON.stringify(key)}.`);
  const { id, isNew } = await client.signal(key, value, { ...options, by: principal.id });
  return { status: 202, json: { id, isNew } } as const;
}
