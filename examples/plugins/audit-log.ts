/**
 * A plugin that writes an audit log: one JSON line for every decision of a run, with who took it, why, and where in the session's log
 * it stands.
 *
 * 1. It is a view of what was committed: nothing is in it that did not happen.
 * 2. What a killed process did not come to write, the next one writes when it is set up: each decision is in it exactly once.
 * 3. What it writes has gone through the plugin `secret-masking`.
 */
import { type Entry, type Plugin, redactJson, type Store } from "pawl";
import { appendEntry, createTranscript, type Transcript } from "pawl/core";
import { type AuditFile, openAuditFile } from "./audit-file.js";
import { type Decision, decisionsOf } from "./decisions.js";
import type { Secrets } from "./secret-masking.js";

/** One line of the file. */
export type AuditLine = Decision & {
  /** ISO 8601. */
  readonly at: string;
  readonly sessionId: string;
  /** The entry of the session's log. */
  readonly seq: number;
};

export function createAuditLog({ path }: { readonly path: string }): Plugin {
  let written: Promise<void> = Promise.resolve();
  return {
    name: "audit-log",
    version: "1.0.0",
    dependencies: ["secret-masking"],
    async setup({ store, service, registerObserver }) {
      // The plugin that it depends on has registered it.
      const { mask } = service("secrets") as Secrets;
      const audit = createAudit(store, openAuditFile(path), mask);
      for await (const sessionId of sessionsOf(store)) await audit.writeUp(sessionId);
      registerObserver({
        name: "audit-log",
        onEvent({ sessionId, type }) {
          // One after the other. Where one fails it is a warning of the process, and the next one writes what it left out.
          const writing = written.then(() => audit.writeUp(sessionId, type === "final"));
          written = writing.catch(() => {});
          return writing;
        },
      });
    },
    dispose: () => written,
  };
}

function createAudit(store: Store, file: AuditFile, mask: Secrets["mask"]) {
  const known = new Map<string, { readonly transcript: Transcript; seq: number }>();

  function write(sessionId: string, transcript: Transcript, entry: Entry): void {
    const { seq, event } = entry;
    const at = new Date(event.at).toISOString();
    const lines = decisionsOf(event, transcript).map((decision): AuditLine => ({ at, sessionId, seq, ...decision }));
    file.append(
      sessionId,
      seq,
      lines.map((line) => JSON.stringify(redactJson(line, mask))),
    );
  }

  return {
    /** Writes what the session's log has beyond what is written. What is known of it is forgotten where it rests. */
    async writeUp(sessionId: string, rests = false): Promise<void> {
      const session = known.get(sessionId) ?? { transcript: createTranscript(), seq: 0 };
      known.set(sessionId, session);
      for (let entries = await read(); entries.length > 0; entries = await read())
        for (const entry of entries) {
          appendEntry(session.transcript, entry);
          write(sessionId, session.transcript, entry);
          session.seq = entry.seq;
        }
      if (rests) known.delete(sessionId);

      function read(): Promise<readonly Entry[]> {
        return store.read(sessionId, session.seq, 500);
      }
    },
  };
}

/** All sessions, those that were at work last first. */
async function* sessionsOf(store: Store): AsyncGenerator<string> {
  for (let page = await store.list({ limit: 100 }); page.length > 0; ) {
    for (const { sessionId } of page) yield sessionId;
    const last = page.at(-1);
    page = last === undefined ? [] : await store.list({ limit: 100, after: last });
  }
}
