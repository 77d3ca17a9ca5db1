/**
 * Webhooks, whose verified deliveries become signals.
 *
 * 1. A delivery is verified before it is parsed, and acknowledged after its signal is durable. A repeated delivery has the same id, so it
 *    counts once, and gets the same response.
 * 2. The sender of a request that fails verification does not learn the reason. The log has it, once a minute for each path, so that
 *    forged requests cannot fill the log.
 */

import { PawlError } from "../../index.js";
import { checkOptionNames, createConfigurationError } from "../option-checks.js";
import { isBodyReencoded } from "../parsed-body.js";
import { readBytes } from "../read-body.js";
import type { Route } from "../route.js";
import type { RouteResponse } from "../route-response.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import type { ServerSettings } from "../server-settings.js";
import type { Webhook, WebhookSignal } from "../signal-options.js";

const maxBytes = 1024 * 1024;

export function createWebhookRoutes(webhooks: ServerSettings["webhooks"]): readonly Route[] {
  return Object.entries(webhooks).map(([path, webhook]): Route => {
    const countRefusal = createRefusalCount();
    return {
      method: "POST",
      path,
      action: "webhook",
      scope: null,
      isSigned: true,
      summary: "Receives deliveries of a webhook.",
      responses: { 202: "the signal is stored", 204: "the delivery was ignored" },
      handle: ({ request, requestId }, context) =>
        receive({ path, webhook, request, requestId, countRefusal }, context),
    };
  });
}

const refusalLineMs = 60_000;

/** Returns how many refusals the next log line covers, or 0 if this refusal is not logged. */
function createRefusalCount(): (now: number) => number {
  let loggedAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (now) => {
    count += 1;
    // The clock may have been set back.
    if (Math.abs(now - loggedAt) < refusalLineMs) return 0;
    const counted = count;
    loggedAt = now;
    count = 0;
    return counted;
  };
}

type Delivery = {
  readonly path: string;
  readonly webhook: Webhook;
  readonly request: Request;
  readonly requestId: string;
  readonly countRefusal: (now: number) => number;
};

async function receive(
  { path, webhook, request, requestId, countRefusal }: Delivery,
  { settings, client }: ServerContext,
): Promise<RouteResponse> {
  const { limits, log } = settings;
  const body = await readBytes(request, { ...limits, maxBodyBytes: Math.min(maxBytes, limits.maxBodyBytes) });
  const delivery = await verify(webhook, request, new Uint8Array(body)).catch((cause: unknown) => {
    const error = isBodyReencoded(request) ? createParsedError(path, cause) : cause;
    const at = Date.now();
    const count = countRefusal(at);
    const line = { at, requestId, principal: null, action: "webhook", sessionId: null, status: 401, error };
    if (count > 0) log({ ...line, ...(count === 1 ? {} : { count }) });
    throw new ServerError("unauthorized", "The request could not be verified.");
  });
  const signal = checkSignal(path, await webhook.signal(delivery.value));
  if (signal === null) return { status: 204, bytes: null };
  const { key, value = null, id = delivery.id, keepMs } = signal;
  const options = { id, by: `webhook:${path}`, ...(keepMs === undefined ? {} : { keepMs }) };
  try {
    await client.signal(key, value, options);
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    // The sender cannot fix the return value of `signal`. The server's author can, and sees the error in the log.
    if (error.code === "bad_input")
      throw createConfigurationError(`webhooks[${JSON.stringify(path)}]: ${error.message}`);
    if (error.code === "signal_full")
      log({ at: Date.now(), requestId, principal: null, action: "webhook", sessionId: null, status: 429, error });
    throw error;
  }
  return { status: 202, bytes: null };
}

function createParsedError(path: string, cause: unknown): PawlError {
  return new PawlError(
    "bad_configuration",
    `webhooks[${JSON.stringify(path)}]: the body was parsed before it reached the server, so it may not have the bytes that were signed. Mount the server before the code that parses bodies.`,
    { cause },
  );
}

const signalNames: ReadonlySet<string> = new Set(["key", "value", "id", "keepMs"]);

/** @throws PawlError `bad_configuration` */
function checkSignal(path: string, signal: WebhookSignal | null): WebhookSignal | null {
  const name = `webhooks[${JSON.stringify(path)}].signal`;
  if (signal === null) return null;
  if (typeof signal !== "object") throw createConfigurationError(`${name} must return { key, value } or null.`);
  checkOptionNames(name, signal, signalNames);
  return signal;
}

/** Turns exceptions into rejections: a custom `verify` may throw before it returns a promise. */
async function verify({ verify: check }: Webhook, request: Request, body: Uint8Array<ArrayBuffer>) {
  return check({ headers: request.headers }, body);
}
