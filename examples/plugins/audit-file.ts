/**
 * The file of an audit log. Lines are added at its end, each once, also if a process was killed and another one
 * goes on.
 */
import { appendFileSync, existsSync, readFileSync, truncateSync } from "node:fs";

export type AuditFile = {
  /** Adds the lines of an entry of a session's log, except the lines that the file has already. */
  readonly append: (sessionId: string, seq: number, lines: readonly string[]) => void;
};

/** How far a session is written: an entry, and how many lines of it. */
type Position = { readonly seq: number; readonly lines: number };

/** Opens the file, and removes a line that a killed process left half written. */
export function openAuditFile(path: string): AuditFile {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole));
  const positions = new Map<string, Position>();
  for (const line of whole.split("\n").slice(0, -1)) {
    const { sessionId, seq } = JSON.parse(line) as { readonly sessionId: string; readonly seq: number };
    const before = positions.get(sessionId);
    positions.set(sessionId, { seq, lines: before?.seq === seq ? before.lines + 1 : 1 });
  }

  return {
    append(sessionId, seq, lines) {
      const { seq: last, lines: written } = positions.get(sessionId) ?? { seq: 0, lines: 0 };
      const fresh = seq > last ? lines : seq === last ? lines.slice(written) : [];
      if (fresh.length === 0) return;
      appendFileSync(path, fresh.map((line) => `${line}\n`).join(""), { mode: 0o600 });
      positions.set(sessionId, { seq, lines: lines.length });
    },
  };
}
