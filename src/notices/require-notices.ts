/**
 * Requires that a store supports notices.
 */
import { PawlError } from "../errors.js";
import type { NoticeStore } from "../ports/notice-store.js";
import type { Store } from "../ports/store.js";

/** @throws PawlError `store_lacks` */
export function requireNotices({ notices }: Pick<Store, "notices">): NoticeStore {
  if (notices !== undefined) return notices;
  throw new PawlError(
    "store_lacks",
    "This store does not support notices: it has no `notices`. Use one of Pawl's stores, or add that member to your own.",
  );
}
