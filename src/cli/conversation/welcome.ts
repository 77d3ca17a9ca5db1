/**
 * What a conversation says first.
 */
import type { SessionSummary, Store } from "../../index.js";
import type { ChosenModel } from "../choose-model.js";
import { agentName } from "../folder-agent.js";
import { shortId } from "../home.js";
import { modelLabel } from "../model-label.js";
import { type Line, spanOf, wrapLine } from "../screen/line.js";
import type { Terminal } from "../terminal.js";
import { counted, visible } from "../text.js";
import type { Front } from "./front.js";
import { wrappedNote } from "./view-lines.js";

type Greeted = {
  readonly store: Store;
  readonly root: string;
  /** What cannot be kept, and why; null if everything is. */
  readonly loss: string | null;
  readonly version: string;
  readonly options: { readonly model?: string };
  readonly front: Front;
  readonly terminal: Terminal;
};

/** The first lines: what this is, and what there is to go on with. */
export async function welcome(
  { store, root, loss, version, options, front, terminal }: Greeted,
  { model, why }: ChosenModel,
  summary: SessionSummary | null,
  isFirst: boolean,
): Promise<readonly Line[]> {
  const session = summary === null ? "new session" : `session ${shortId(summary.sessionId)}`;
  const head: Line = [
    spanOf(`Pawl ${version}`, "bold"),
    spanOf(` · ${modelLabel(model.id)} · ${root} · ${session}`, "dim"),
  ];
  const wrappedHead = wrapLine(head, Math.max(8, front.columns() - 1));
  if (!isFirst) return wrappedHead;
  const notes: Line[] = [...wrappedHead];
  if (options.model === undefined && model.id === "demo")
    notes.push(...wrappedNote(terminal.redaction.text(why), front.columns(), "yellow"));
  if (loss !== null) notes.push(...wrappedNote(visible(loss), front.columns(), "yellow"));
  if (summary !== null) return notes;
  const others = await store.list({ agent: agentName, root, parent: null, limit: 100 });
  const hint =
    others.length === 0
      ? "Ask for something, or type / for commands. Esc stops. Nothing is lost by a kill."
      : `${counted(others.length, "session")} here: /resume`;
  notes.push(...wrappedNote(hint, front.columns(), "dim"));
  return notes;
}
