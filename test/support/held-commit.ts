/**
 * A store whose answer to one commit comes when a test says so.
 */
import type { Store } from "../../src/index.js";
import { createDeferred } from "./agents.js";

/** Holds the answers to commits with an event of this type, which take effect at once. */
export function holdCommits(inner: Store, type: string) {
  const [written, answered] = [createDeferred<void>(), createDeferred<void>()];
  const store: Store = {
    ...inner,
    async commit(lease, commit) {
      const result = await inner.commit(lease, commit);
      if (!commit.events.some((event) => event.type === type)) return result;
      written.resolve();
      await answered.promise;
      return result;
    },
  };
  /** `lose` fails the commit in place of an answer. */
  return { store, written: written.promise, answer: () => answered.resolve(), lose: answered.reject };
}
