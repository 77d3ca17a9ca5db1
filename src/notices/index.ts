/**
 * `pawl/notices`: notifies other systems that a run waits for a person or has ended, with signed webhooks.
 */
export type { NoticeRow } from "../ports/notice-store.js";
export { createNotices, type NoticesOptions } from "./create-notices.js";
export type { NoticeDestination, NoticeKind } from "./destinations.js";
export { createOutbox, type Outbox, type OutboxListOptions, type OutboxOptions } from "./outbox.js";
