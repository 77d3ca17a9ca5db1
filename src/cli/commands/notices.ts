/**
 * `pawl notices`: lists the undelivered notices of the store, and retries or removes them.
 */
import { PawlError } from "../../index.js";
import { createOutbox, type NoticeRow, type Outbox } from "../../notices/index.js";
import { exitCodes } from "../exit.js";
import { openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, formatJsonLine, sanitize, toOneLine } from "../terminal/text.js";

async function withOutbox(work: (outbox: Outbox) => Promise<void>): Promise<number> {
  const store = await openStore(resolveHome(process.env));
  try {
    await work(createOutbox({ store }));
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

export function list(
  { dead, json }: { readonly dead?: true; readonly json?: true },
  terminal: Terminal,
): Promise<number> {
  return withOutbox(async (outbox) => {
    let count = 0;
    for (let after = 0; ; ) {
      const page = await outbox.list({ isDead: dead === true, after });
      count += page.length;
      for (const row of page)
        terminal.out(
          json === true ? formatJsonLine(terminal.redaction.value(row)) : `${formatNotice(row, terminal)}\n`,
        );
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.number;
    }
    const none = dead === true ? "There are no dead notices.\n" : "All notices are delivered.\n";
    if (json !== true) terminal.err(count === 0 ? none : `${formatCount(count, "notice")}.\n`);
  });
}

export function change(action: "retry" | "remove", number: number, terminal: Terminal): Promise<number> {
  return withOutbox(async (outbox) => {
    if (!(await outbox[action](number)))
      throw new PawlError(
        "bad_input",
        `There is no ${action === "retry" ? "dead " : ""}notice ${number}. List them: pawl notices list`,
      );
    terminal.out(action === "retry" ? `${number}: a worker delivers it again.\n` : `${number} is removed.\n`);
  });
}

function formatNotice(row: NoticeRow, { styleOut: style, redaction }: Terminal): string {
  const { number, destination, sessionId, dueAt, tries, error } = row;
  const type = (row.notice as { readonly type?: unknown } | null)?.type;
  const about = sessionId === null ? "" : ` of ${sanitize(shortId(sessionId))}`;
  const what = `${sanitize(String(type ?? "damaged"))}${about}`;
  const state = dueAt === null ? style("red", "dead") : dueAt === 0 ? "due" : `next ${new Date(dueAt).toISOString()}`;
  const why = error === undefined ? "" : `: ${toOneLine(redaction.text(error))}`;
  return `${style("bold", String(number))}  ${sanitize(destination)}  ${what}  ${state} after ${formatCount(tries, "attempt")}${why}`;
}
