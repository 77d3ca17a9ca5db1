/**
 * The first lines of a conversation.
 */
import type { SessionSummary, Store } from "../../index.js";
import { agentName } from "../agent/agent-name.js";
import type { ChosenModel } from "../agent/choose-model.js";
import { shortId } from "../files/session-store.js";
import { formatModel } from "../render/format-model.js";
import { type Line, spanOf, wrapLine } from "../screen/line.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize } from "../terminal/text.js";
import type { Front } from "./fronts/front.js";
import { wrapNote } from "./lines/view-lines.js";

type WelcomeDeps = {
  readonly store: Store;
  readonly root: string;
  /** Why the session is lost when the command ends; null if sessions are stored. */
  readonly loss: string | null;
  readonly version: string;
  readonly options: { readonly model?: string };
  readonly front: Front;
  readonly terminal: Terminal;
};

/** A session keeps its model, even if a key has been set since it began. */
const demoAsBefore = "Using the demo model, not an LLM, as before. To switch this session to another model: /model";

/** Renders the first lines: the version, the session, and what can be continued. */
export async function renderWelcome(
  { store, root, loss, version, options, front, terminal }: WelcomeDeps,
  { model, why }: ChosenModel,
  summary: SessionSummary | null,
  isFirst: boolean,
): Promise<readonly Line[]> {
  const session = summary === null ? "new session" : `session ${shortId(summary.sessionId)}`;
  const head: Line = [
    spanOf(`Pawl ${version}`, "bold"),
    spanOf(` · ${formatModel(model.id)} · ${root} · ${session}`, "dim"),
  ];
  const wrappedHead = wrapLine(head, Math.max(8, front.columns() - 1));
  if (!isFirst) return wrappedHead;
  const notes: Line[] = [...wrappedHead];
  if (options.model === undefined && model.id === "demo")
    notes.push(...wrapNote(summary === null ? terminal.redaction.text(why) : demoAsBefore, front.columns(), "yellow"));
  if (loss !== null) notes.push(...wrapNote(sanitize(loss), front.columns(), "yellow"));
  if (summary !== null) return notes;
  const otherSessions = await store.list({ agent: agentName, root, parent: null, limit: 100 });
  const hint =
    otherSessions.length === 0
      ? `Ask for something, or type / for commands. Esc stops.${loss === null ? " Nothing is lost if pawl is killed." : ""}`
      : `${formatCount(otherSessions.length, "session")} here: /resume`;
  notes.push(...wrapNote(hint, front.columns(), "dim"));
  return notes;
}
