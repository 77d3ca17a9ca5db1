/**
 * A plugin that writes an audit log: one JSON line for every decision of a run, with who decided, why, and the
 * entry of the session's log.
 *
 * 1. The audit log is a view of committed entries: everything in it happened.
 * 2. If a process was killed before it wrote a line, the next one writes the line at its setup: each decision is in
 * the file exactly once.
 * 3. Every line has gone through the plugin `secret-masking`.
 */
import { type Plugin, redactJson, type Store } from "pawl";
import type { Entry } from "pawl/core";
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
      // The plugin `secret-masking`, a dependency, has registered this service.
      const { mask } = service("secrets") as Secrets;
      const audit = createAudit(store, openAuditFile(path), mask);
      for await (const sessionId of sessionsOf(store)) await audit.writeUp(sessionId);
      registerObserver({
        name: "audit-log",
        onEvent({ sessionId, type }) {
          // One write after the other. If one fails, the process gets a warning, and the next write adds the
          // missing lines.
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
    /** Writes the entries of the session's log that the file does not have yet. Forgets the session when it rests. */
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

/** All sessions, the latest active ones first. */
async function* sessionsOf(store: Store): AsyncGenerator<string> {
  for (let page = await store.list({ limit: 100 }); page.length > 0; ) {
    for (const { sessionId } of page) yield sessionId;
    const last = page.at(-1);
    page = last === undefined ? [] : await store.list({ limit: 100, after: last });
  }
}
