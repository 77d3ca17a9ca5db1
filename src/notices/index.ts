/**
 * `pawl/notices`: notifies other systems and browsers that a run waits for a person or has ended, or that a schedule missed slots, with
 * signed webhooks and Web Push.
 */
export type { NoticeRow } from "../ports/notice-store.js";
export type { NoticeFailure, PushSubscriptions, SubscribeResult, WorkerNotices } from "../ports/worker-notices.js";
export { createNotices, type NoticesOptions, type PushOptions } from "./create-notices.js";
export type { NoticeDestination, NoticeKind } from "./destinations.js";
export { createOutbox, type Outbox, type OutboxListOptions, type OutboxOptions } from "./outbox.js";
