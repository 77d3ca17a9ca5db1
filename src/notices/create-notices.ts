/**
 * Delivers the notices of a store to destinations.
 *
 * 1. A worker leases a notice before it delivers it, by moving its due time: if the worker is killed, the next one takes over. So a
 *    notice is delivered at least once, with the same id in each attempt.
 * 2. An attempt counts when it begins. After the last one, or when the destination is gone (410), the notice is dead. The store keeps it for
 *    ten days, and lists it. A browser that is gone is removed, with its notices.
 * 3. A destination that does not respond does not delay the others: the next poll skips it, and delivers to the others.
 * 4. A `run.waiting` notice is dropped if its question was answered meanwhile.
 */
import { anArray, anObject, checkOptions, integerFrom, nonEmptyString, type OptionTable } from "../check-options.js";
import type { Json } from "../core/data/message.js";
import { askedAt } from "../core/view/outcome.js";
import { PawlError } from "../errors.js";
import { sha256 } from "../platform/hash.js";
import type { NoticeRow, NoticeStore } from "../ports/notice-store.js";
import type { Store } from "../ports/store.js";
import type { WorkerNotices } from "../ports/worker-notices.js";
import { createAddressRules } from "../tools/web/address-rules.js";
import {
  type CompiledDestination,
  compileDestinations,
  type NoticeDestination,
  type NoticeFields,
} from "./destinations.js";
import { createPushSubscriptions, dropEndedSubscriptions, readPushDestinations } from "./push-subscriptions.js";
import { requireNotices } from "./require-notices.js";
import { type SendRules, sendRequest } from "./send-notice.js";

/** Options of `createNotices`. */
export type NoticesOptions = {
  /**
   * Private or local addresses, or ranges such as `10.1.0.0/16`, that may get webhooks. Names are not allowed here, because the owner of a name
   * can point it anywhere. Default: none.
   */
  readonly allowAddresses?: readonly string[];
  /** The timeout of an attempt, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
  /** Also delivers to browsers in which people have switched on notices, in the inspector of a server. Default: not. */
  readonly push?: PushOptions;
};

/** Web Push. */
export type PushOptions = {
  /** Whom the push services of browsers may contact about the messages: `mailto:` and an address, or an https URL. */
  readonly contact: string;
  /**
   * Private or local addresses, or ranges, of push services of your own. Whoever may subscribe can make Pawl send requests to them. Default:
   * none.
   */
  readonly allowAddresses?: readonly string[];
};

const optionRules: OptionTable<NoticesOptions> = {
  allowAddresses: anArray,
  timeoutMs: integerFrom(1, "milliseconds"),
  push: anObject,
};
const pushRules: OptionTable<PushOptions> = { contact: nonEmptyString, allowAddresses: anArray };

/** The time between two attempts, in milliseconds; up to a fifth is added as jitter. There is one more attempt than delays. */
const retryDelaysMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000] as const;
const maxTries = retryDelaysMs.length + 1;

/** How long an attempt may take beyond its timeout before another worker tries, in milliseconds. */
const leaseMarginMs = 20_000;

const rowsPerPoll = 32;
/** The maximum number of concurrent requests to a destination. */
const maxRequests = 4;

const dayMs = 86_400_000;
const keptMs = 10 * dayMs;
const dropEveryMs = 3_600_000;

type DeliverOptions = Parameters<WorkerNotices["deliver"]>[1];
/** State that the polls of a store share. */
type Progress = {
  /** The destinations to which an earlier poll still delivers. */
  readonly busyIds: Set<string>;
  /** When old rows are dropped next, on the scale of the clock's `elapsed`. */
  nextDropAt: number;
};

type Attempt =
  | { readonly isDelivered: true }
  | { readonly isDelivered: false; readonly error: Error; readonly isFinal: boolean };

/**
 * Notices for the option `notices` of `createWorker`: signed webhooks that report that a run waits for a person or has ended, or that slots
 * of a schedule were missed.
 *
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * import { createWorker } from "pawl";
 * import { createNotices } from "pawl/notices";
 *
 * const secret = process.env.NOTICES_SECRET ?? "";
 * const notices = createNotices([{ id: "desk", url: "https://desk.example.org/pawl", secret, kinds: ["run.waiting"] }]);
 * const worker = createWorker({ store, agents: [agent], notices });
 * ```
 */
export function createNotices(destinations: readonly NoticeDestination[], options: NoticesOptions = {}): WorkerNotices {
  checkOptions("createNotices()", optionRules, options);
  const { allowAddresses = [], timeoutMs = 10_000 } = options;
  const contact = options.push === undefined ? null : checkContact(options.push);
  const publicRules = createAddressRules([]);
  const hookRules: SendRules = {
    allowed: createAddressRules(allowAddresses),
    public: publicRules,
    option: "allowAddresses",
  };
  const browserRules: SendRules = {
    allowed: createAddressRules(options.push?.allowAddresses ?? []),
    public: publicRules,
    option: "push.allowAddresses",
  };
  const compiled = compileDestinations(destinations, hookRules);
  const ids = compiled.map(({ id }) => id);
  const progress = new WeakMap<Store, Progress>();

  async function attempt(destination: CompiledDestination, row: NoticeRow, options: DeliverOptions): Promise<Attempt> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const { notice } = row;
    try {
      const request = destination.createRequest({
        deliveryId: toDeliveryId(row),
        now: options.clock.now(),
        notice,
        fields: readNotice(notice),
      });
      const rules = destination.isBrowser ? browserRules : hookRules;
      const status = await sendRequest(request, rules, AbortSignal.any([options.signal, deadline]));
      if (status >= 200 && status < 300) return { isDelivered: true };
      const isGone = status === 410 || (status === 404 && destination.isBrowser);
      return { isDelivered: false, error: new Error(`The destination answered ${status}.`), isFinal: isGone };
    } catch (cause) {
      const error = deadline.aborted
        ? new Error(`The destination did not answer within ${timeoutMs} ms.`)
        : cause instanceof Error
          ? cause
          : new Error(String(cause));
      return { isDelivered: false, error, isFinal: false };
    }
  }

  async function deliverRow(store: Store, destination: CompiledDestination, row: NoticeRow, options: DeliverOptions) {
    const rows = requireNotices(store);
    const { signal, clock, random, onFailure } = options;
    const { number, sessionId, notice } = row;
    const refusal = findRefusal(row);
    if (refusal === null && !(await isWanted(store, destination, row))) return void (await rows.remove(number));
    const leased = { number, tries: row.tries + 1, dueAt: clock.now() + timeoutMs + leaseMarginMs };
    if (refusal === null && !(await rows.replace(row, { ...row, ...leased }))) return;
    const seen = refusal === null ? leased : row;
    const result: Attempt =
      refusal === null
        ? await attempt(destination, row, options)
        : { isDelivered: false, error: new Error(refusal), isFinal: true };
    if (result.isDelivered) return void (await rows.remove(number));
    if (refusal === null && result.isFinal && destination.isBrowser)
      return void (await rows.removeDestination(destination.id));
    // The worker stops, and releases the lease so that other workers need not wait for it.
    if (signal.aborted) return void (await rows.replace(seen, { ...row, dueAt: 0 }));
    const delayMs = result.isFinal ? undefined : retryDelaysMs[seen.tries - 1];
    const retryInMs = delayMs === undefined ? null : Math.round(delayMs * (1 + random() / 5));
    const dueAt = retryInMs === null ? null : clock.now() + retryInMs;
    const error = result.error.message.slice(0, maxErrorText);
    if (await rows.replace(seen, { notice, tries: seen.tries, dueAt, error }))
      onFailure({ destination: destination.id, sessionId, notice: number, error: result.error, retryInMs });
  }

  function getProgress(store: Store): Progress {
    const known = progress.get(store) ?? { busyIds: new Set<string>(), nextDropAt: Number.NEGATIVE_INFINITY };
    progress.set(store, known);
    return known;
  }

  async function deliverTo(
    store: Store,
    destination: CompiledDestination,
    due: readonly NoticeRow[],
    options: DeliverOptions,
  ) {
    const waiting = [...due];
    const deliverNext = async (): Promise<void> => {
      for (let row = waiting.shift(); row !== undefined && !options.signal.aborted; row = waiting.shift())
        await deliverRow(store, destination, row, options);
    };
    await settleAll(Array.from({ length: maxRequests }, deliverNext));
    return due.length;
  }

  /** Returns how many notices were due. */
  async function deliverToFree(
    store: Store,
    destinations: readonly CompiledDestination[],
    options: DeliverOptions,
  ): Promise<number> {
    const { busyIds } = getProgress(store);
    const free = new Map(destinations.filter(({ id }) => !busyIds.has(id)).map((one) => [one.id, one]));
    for (const id of free.keys()) busyIds.add(id);
    const due = new Map([...free.keys()].map((id): [string, NoticeRow[]] => [id, []]));
    try {
      const found = await findDue(requireNotices(store), [...free.keys()], options.clock.now());
      for (const row of found) due.get(row.destination)?.push(row);
    } catch (error) {
      for (const id of free.keys()) busyIds.delete(id);
      throw error;
    }
    const counts = await settleAll(
      [...free].map(async ([id, destination]) => {
        try {
          return await deliverTo(store, destination, due.get(id) ?? [], options);
        } finally {
          busyIds.delete(id);
        }
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Also drops notices of destinations that no worker serves. */
  async function dropOld(store: Store, ids: readonly string[], { clock }: DeliverOptions): Promise<void> {
    const known = getProgress(store);
    if (clock.elapsed() < known.nextDropAt) return;
    known.nextDropAt = clock.elapsed() + dropEveryMs;
    // With `push`, each poll does this.
    if (contact === null) await dropEndedSubscriptions(store, clock.now());
    // The next polls remove the rest, so that deliveries do not wait for a backlog.
    if ((await requireNotices(store).drop(clock.now() - keptMs, ids)) > 0) known.nextDropAt = clock.elapsed();
  }

  return Object.freeze({
    ...(contact === null ? {} : { push: createPushSubscriptions(browserRules) }),
    async register(store: Store) {
      const rows = requireNotices(store);
      for (const id of ids) await rows.addDestination(id);
    },
    async deliver(store: Store, options: DeliverOptions) {
      const browsers = contact === null ? [] : await readPushDestinations(store, contact, options.clock.now());
      const all = [...compiled, ...browsers];
      await dropOld(
        store,
        all.map(({ id }) => id),
        options,
      );
      return deliverToFree(store, all, options);
    },
  });
}

/** @throws PawlError `bad_configuration` */
function checkContact(push: PushOptions): string {
  checkOptions("createNotices(): push", pushRules, push);
  const { contact } = push;
  if (/^mailto:\S+@\S+$/.test(contact) || (URL.canParse(contact) && new URL(contact).protocol === "https:"))
    return contact;
  throw new PawlError(
    "bad_configuration",
    `createNotices(): push.contact is ${JSON.stringify(contact)}; it must be "mailto:" and an address, or an https URL.`,
  );
}

const maxErrorText = 500;

/** Resolves or rejects as `Promise.all` does, but not before all of them have settled. */
async function settleAll<Value>(promises: readonly Promise<Value>[]): Promise<readonly Value[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** The rows that are due for each of these destinations. */
async function findDue(rows: NoticeStore, ids: readonly string[], now: number): Promise<readonly NoticeRow[]> {
  if (ids.length === 0) return [];
  if (rows.dueForEach !== undefined) return rows.dueForEach(ids, now, rowsPerPoll);
  return (await Promise.all(ids.map((id) => rows.due(id, now, rowsPerPoll)))).flat();
}

/** Why a notice is dead without another attempt; null if it is not. */
function findRefusal({ notice, error, tries }: NoticeRow): string | null {
  if (notice === null) return error ?? "The store cannot read the notice.";
  // A failed attempt decides whether there is another one. Here the worker ended before it could decide.
  return tries >= maxTries ? "The worker ended during the last attempt." : null;
}

/** Includes the time, because a session with the same id in another store, or one that was deleted and started again, has other notices. */
function toDeliveryId({ id, at }: NoticeRow): string {
  return `msg_${sha256(`${id}\n${at}`).slice(0, 32)}`;
}

async function isWanted(store: Store, { wants }: CompiledDestination, { sessionId, notice }: NoticeRow) {
  const fields = readNotice(notice);
  if (!wants(fields)) return false;
  const { type, data } = fields;
  return type !== "run.waiting" || sessionId === null || (await isStillAsked(store, sessionId, data.askedAt));
}

async function isStillAsked(store: Store, sessionId: string, since: Json | undefined): Promise<boolean> {
  try {
    const loaded = await store.load(sessionId);
    return loaded !== null && askedAt(loaded.state) === since;
  } catch (error) {
    // The session cannot be read here, so the receiver has to check. Other notices are not delayed.
    if (error instanceof PawlError && (error.code === "newer_format" || error.code === "store_corrupt")) return true;
    throw error;
  }
}

function readNotice(notice: Json): NoticeFields {
  const { type, data } = (notice ?? {}) as Partial<NoticeFields>;
  return { type: typeof type === "string" ? type : "", data: data ?? {} };
}
