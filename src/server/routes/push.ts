/**
 * Web Push: browsers in which the inspector is open subscribe to notices.
 */
import type { PushSubscriptions } from "../../notices/index.js";
import type { Principal } from "../principal.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { isAllowed, type ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { object, string } from "../shape.js";

/** The purpose of the key with which browsers subscribe: the same in all processes with the server's secret. */
const purpose = "web push";

const endpoint = string("The URL of the browser's push service: `endpoint` of a `PushSubscription`.", 2_000);

export const pushRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/push",
    action: "push",
    scope: "read",
    summary: "The key with which a page subscribes to notices by Web Push.",
    responses: { 200: "{ publicKey }: null if the server sends none, because its `notices` have no `push`" },
    content: { 200: responseContents.pushKey },
    async handle({ principal }, context) {
      await assertAllowed(principal, context);
      return {
        status: 200,
        json: { publicKey: context.settings.worker.notices?.push?.publicKey(createSeed(context)) ?? null },
      };
    },
  },
  {
    method: "POST",
    path: "/v1/push/subscribe",
    action: "push",
    scope: "read",
    summary:
      "Adds or renews the subscription of a browser for 30 days. It gets notices about the sessions and schedules of the principal; with the scope `admin`, about all.",
    body: object(
      {
        endpoint,
        p256dh: string("The browser's public key, in base64url.", 100),
        auth: string("The browser's secret, in base64url.", 100),
        publicKey: string("The key with which it subscribed.", 100),
      },
      ["endpoint", "p256dh", "auth", "publicKey"],
    ),
    responses: { 204: "subscribed" },
    handle: subscribe,
  },
  {
    method: "POST",
    path: "/v1/push/unsubscribe",
    action: "push",
    scope: "read",
    summary: "Removes the subscription of a browser.",
    body: object({ endpoint }, ["endpoint"]),
    responses: { 204: "removed, or there was none" },
    async handle({ principal, body }, context) {
      const given = body as { readonly endpoint: string };
      const owner = seesAll(principal) ? null : principal.id;
      await requirePush(context).unsubscribe(context.settings.store, { ...given, owner });
      return { status: 204, bytes: null };
    },
  },
];

async function subscribe({ principal, body }: RouteRequest, context: ServerContext) {
  await assertAllowed(principal, context);
  const push = requirePush(context);
  const { publicKey, ...given } = body as {
    readonly endpoint: string;
    readonly p256dh: string;
    readonly auth: string;
    readonly publicKey: string;
  };
  const seed = createSeed(context);
  // A push service refuses messages that are signed with another key.
  if (publicKey !== push.publicKey(seed))
    throw new ServerError("bad_input", "The browser subscribed with the key of another server. Subscribe again.");
  const owner = { owner: principal.id, isForAll: seesAll(principal) };
  const result = await push.subscribe(context.settings.store, { ...given, ...owner, now: Date.now(), seed });
  if (result === "refused")
    throw new ServerError(
      "bad_input",
      "This is not the subscription of a browser: `endpoint` must be a public https URL, and `p256dh` and `auth` its keys.",
    );
  if (result === "full")
    throw new ServerError(
      "too_many",
      "The store takes no more subscriptions. Those of closed browsers end after 30 days.",
    );
  return { status: 204, bytes: null } as const;
}

/** Anyone who may read can unsubscribe, so `may` is not asked then. @throws ServerError `forbidden` */
async function assertAllowed(principal: Principal, context: ServerContext): Promise<void> {
  if (await isAllowed(context, principal, "push", null)) return;
  throw new ServerError("forbidden", "You are not allowed to get notices in a browser.");
}

function seesAll({ scopes }: Principal): boolean {
  return scopes.includes("admin");
}

function createSeed({ keys }: ServerContext): string {
  return keys.sign(purpose, "");
}

/** @throws ServerError `not_found` */
function requirePush({ settings }: ServerContext): PushSubscriptions {
  const push = settings.worker.notices?.push;
  if (push !== undefined) return push;
  throw new ServerError("not_found", "This server sends no notices to browsers. They need `push` of createNotices().");
}
