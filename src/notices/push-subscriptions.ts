/**
 * The browsers that get notices by Web Push. Each subscription is a destination of its own, whose row in the store has its address and keys.
 *
 * 1. A push contains the title of what happened and a link into the inspector, and nothing else.
 * 2. It goes only to the principal whose session or schedule it is about, or to one that may see all of them.
 * 3. It goes to public addresses and to those of `push.allowAddresses`, because the subscriber chooses the address.
 * 4. A subscription ends 30 days after the page Approvals was last open in its browser, and when its push service says that it is gone.
 */
import { isIP } from "node:net";
import type { Json } from "../core/data/message.js";
import { sha256 } from "../platform/hash.js";
import { getHost } from "../platform/url-host.js";
import type { Store } from "../ports/store.js";
import type { PushSubscriptions, SubscribeResult } from "../ports/worker-notices.js";
import { type CompiledDestination, type NoticeFields, pushPrefix } from "./destinations.js";
import { requireNotices } from "./require-notices.js";
import { isDeliverable, type SendRules } from "./send-notice.js";
import { areSubscriptionKeys, createVapidHeader, deriveVapidKeys, encryptPush, type VapidKeys } from "./web-push.js";

const keptMs = 30 * 86_400_000;
/** The least recently seen one of a principal makes room for another. */
const maxOfPrincipal = 20;
const maxSubscriptions = 500;
const maxEndpointCharacters = 2_000;
/** How long a push service keeps a message for a browser that is not connected, in seconds. */
const ttlSeconds = 86_400;
const maxTitleCharacters = 160;

/** The body of its row. */
type Subscription = {
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  /** The pair with which the browser subscribed. */
  readonly vapid: VapidKeys;
  /** The principal that subscribed. */
  readonly owner: string;
  /** Whether it gets notices about the sessions and schedules of all principals. */
  readonly isForAll: boolean;
  /** In epoch milliseconds. */
  readonly until: number;
};

type Stored = { readonly id: string; readonly subscription: Subscription };

export function createPushSubscriptions(rules: SendRules): PushSubscriptions {
  async function subscribe(
    store: Store,
    { seed, now, owner, isForAll, endpoint, p256dh, auth }: Parameters<PushSubscriptions["subscribe"]>[1],
  ): Promise<SubscribeResult> {
    if (!isEndpoint(endpoint, rules) || !areSubscriptionKeys({ p256dh, auth })) return "refused";
    const rows = requireNotices(store);
    const id = toDestinationId(endpoint);
    const vapid = deriveVapidKeys(seed);
    const kept: Subscription = { endpoint, p256dh, auth, vapid, owner, isForAll, until: now + keptMs };
    const isNew = await rows.addDestination(id, kept);
    // Counted with this row in the store. So of requests at the same time, the last one sees the rows of all others.
    const stored = await readStored(store);
    const own = stored.filter(({ subscription }) => subscription.owner === owner);
    const oldest = own.toSorted((a, b) => a.subscription.until - b.subscription.until);
    const excess = oldest.slice(0, Math.max(0, own.length - maxOfPrincipal));
    for (const one of excess) await rows.removeDestination(one.id);
    if (!isNew || stored.length - excess.length <= maxSubscriptions) return "subscribed";
    await rows.removeDestination(id);
    return "full";
  }

  async function unsubscribe(
    store: Store,
    { endpoint, owner }: Parameters<PushSubscriptions["unsubscribe"]>[1],
  ): Promise<boolean> {
    const id = toDestinationId(endpoint);
    const stored = (await readStored(store)).find((one) => one.id === id);
    if (stored === undefined || (owner !== null && stored.subscription.owner !== owner)) return false;
    return requireNotices(store).removeDestination(id);
  }

  return Object.freeze({ publicKey: (seed: string) => deriveVapidKeys(seed).publicKey, subscribe, unsubscribe });
}

/** Reads the destinations of all subscriptions, and removes those that are over. */
export async function readPushDestinations(
  store: Store,
  contact: string,
  now: number,
): Promise<readonly CompiledDestination[]> {
  return (await dropEndedSubscriptions(store, now)).map((one) => compileSubscription(one, contact));
}

/** Removes the subscriptions that are over, with their notices. Returns the others. */
export async function dropEndedSubscriptions(store: Store, now: number): Promise<readonly Stored[]> {
  const stored = await readStored(store);
  const hasEnded = ({ subscription }: Stored) => subscription.until <= now;
  for (const { id } of stored.filter(hasEnded)) await requireNotices(store).removeDestination(id);
  return stored.filter((one) => !hasEnded(one));
}

async function readStored(store: Store): Promise<readonly Stored[]> {
  const rows = await requireNotices(store).destinations();
  return rows.flatMap(({ id, body }) => {
    const subscription = id.startsWith(pushPrefix) ? parseSubscription(body) : null;
    return subscription === null ? [] : [{ id, subscription }];
  });
}

/** Null if it is damaged, or of another version. */
function parseSubscription(body: Json): Subscription | null {
  const { endpoint, p256dh, auth, vapid, owner, isForAll, until } = (body ?? {}) as Partial<Subscription>;
  const isComplete = [endpoint, p256dh, auth, vapid?.privateKey, vapid?.publicKey, owner].every(
    (field) => typeof field === "string",
  );
  const isValid = isComplete && typeof isForAll === "boolean" && typeof until === "number";
  return isValid && URL.canParse(endpoint ?? "") ? (body as unknown as Subscription) : null;
}

function compileSubscription({ id, subscription }: Stored, contact: string): CompiledDestination {
  const { endpoint, vapid, owner, isForAll } = subscription;
  const url = new URL(endpoint);
  return {
    id,
    isBrowser: true,
    wants: ({ type, data }) =>
      (isForAll || data.principal === owner) && (type !== "run.ended" || data.status === "failed"),
    createRequest({ fields, now }) {
      const message = { title: createTitle(fields), link: createLink(fields) };
      return {
        url,
        body: encryptPush(JSON.stringify(message), subscription),
        headers: {
          "content-type": "application/octet-stream",
          "content-encoding": "aes128gcm",
          ttl: String(ttlSeconds),
          urgency: fields.type === "run.waiting" ? "high" : "normal",
          authorization: createVapidHeader(url, vapid, contact, now),
        },
      };
    },
  };
}

function createTitle({ type, data }: NoticeFields): string {
  const agent = String(data.agent ?? "An agent");
  const tools = Array.isArray(data.tools) ? data.tools.map(String).join(", ") : "";
  const title =
    type === "run.waiting"
      ? `${agent} waits for you: ${tools}`
      : type === "schedule.missed"
        ? `The schedule ${String(data.scheduleId)} missed ${data.isMinimum === true ? "at least " : ""}${String(data.count)} of its times`
        : `A run of ${agent} failed`;
  return title.slice(0, maxTitleCharacters);
}

/** The fragment of the inspector's URL. */
function createLink({ type, data }: NoticeFields): string {
  return type === "schedule.missed" ? "#/schedules" : `#/sessions/${encodeURIComponent(String(data.sessionId))}`;
}

/** Whether a push may go there, as far as the URL shows. The addresses of its host are checked with each delivery. */
function isEndpoint(text: string, rules: SendRules): boolean {
  if (text.length > maxEndpointCharacters || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (!["https:", "http:"].includes(url.protocol) || url.username !== "" || url.password !== "") return false;
  const host = getHost(url);
  return isIP(host) === 0 ? url.protocol === "https:" && host !== "localhost" : isDeliverable(host, url, rules);
}

function toDestinationId(endpoint: string): string {
  return `${pushPrefix}${sha256(endpoint).slice(0, 32)}`;
}
