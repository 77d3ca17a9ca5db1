/**
 * The live region of a conversation: what is open, the question or a list, the draft, and the status.
 */

import { callTitle } from "../call-title.js";
import type { Mode } from "../permissions/mode.js";
import type { Draft } from "../screen/draft.js";
import { draftRows } from "../screen/draft-rows.js";
import { type Line, lineOf, spanOf, wrapLine } from "../screen/line.js";
import { type Picker, pickerRows } from "../screen/picker.js";
import type { Region } from "../screen/screen.js";
import { oneLine } from "../text.js";
import { type Answering, answerKeys, promptOf, scopesOf } from "./answering.js";
import type { OpenQuestion } from "./questions.js";
import { statusLine } from "./status-line.js";
import type { View } from "./view.js";

/** Rows. The region takes half of the screen at most. */
const mostRows = 14;
const mostDraftRows = 8;
/** Below this many columns, hints are only keys. */
const narrow = 60;

export type Shown = {
  readonly view: View | null;
  readonly draft: Draft;
  /** What the draft may become. */
  readonly hints: readonly Line[];
  readonly answering: Answering;
  /** Whether keys go to the question although the draft is not empty. */
  readonly isOnQuestion: boolean;
  readonly picker: Picker | null;
  /** Whether the person is asked how to leave. */
  readonly isLeaving: boolean;
  readonly notice: string | undefined;
  readonly mode?: Mode;
};

export function liveRegion(shown: Shown, columns: number, rows: number, now: number): Region {
  const most = Math.max(3, Math.min(mostRows, Math.floor(rows / 2)));
  const { view, draft, answering, picker } = shown;
  const questions = view?.questions.all() ?? [];
  const [question] = questions;
  const status =
    view === null
      ? lineOf(shown.notice ?? "", "dim")
      : statusLine(view.state(), {
          columns,
          now,
          questions: questions.length,
          ...(shown.mode === undefined ? {} : { mode: shown.mode }),
          ...(shown.notice === undefined ? {} : { notice: shown.notice }),
        });
  if (picker !== null) {
    const list = pickerRows(picker, columns, most - 1);
    return { rows: [...list.rows, status], cursor: list.cursor };
  }
  const asked = shown.isLeaving
    ? leavingRows(columns)
    : question === undefined
      ? shown.hints
      : questionRows(question, shown, columns);
  const prompt = question === undefined ? "> " : promptOf(answering);
  const input = draftRows(draft, prompt, columns, Math.max(1, Math.min(mostDraftRows, most - 1 - asked.length)));
  const room = Math.max(0, most - 1 - asked.length - input.rows.length);
  const open = view?.open(columns, room, now) ?? [];
  const above = [...open, ...asked];
  return {
    rows: [...above, ...input.rows, status],
    cursor: { row: above.length + input.cursor.row, before: input.cursor.before },
  };
}

function leavingRows(columns: number): readonly Line[] {
  const isNarrow = columns < narrow + 10;
  return [
    lineOf(isNarrow ? "? A run is at work. Leave how?" : "? A run is at work. How do you want to leave?", "yellow"),
    lineOf(
      isNarrow
        ? "  s stop it   l leave it   esc stay"
        : "  s stop it   l leave it: pawl --continue carries it on   esc stay",
    ),
  ];
}

function questionRows(
  question: OpenQuestion,
  { answering, isOnQuestion, draft }: Shown,
  columns: number,
): readonly Line[] {
  if (answering.mode === "always") return alwaysRows(answering);
  const title = questionTitle(question, answering, columns);
  if (answering.mode !== "choose") return [...title, lineOf("  enter goes on · esc back", "dim")];
  const keys = answerKeys(question);
  const isNarrow = columns < narrow;
  const hint = keys.map(({ key, says }) => (isNarrow ? key : `${key} ${says}`)).join(isNarrow ? " " : "   ");
  const isReady = isOnQuestion || draft.text === "";
  return [
    ...title,
    isReady ? lineOf(`  ${hint}`) : lineOf(isNarrow ? "  tab goes to the question" : `  tab, then ${hint}`, "dim"),
  ];
}

const mostTitleRows = 2;

/** Names the call that the keys answer: what other calls have given since may stand between it and the keys. */
function questionTitle(question: OpenQuestion, answering: Answering, columns: number): readonly Line[] {
  const input = answering.mode === "choose" ? (answering.edited ?? question.input) : question.input;
  const end = ", whole above";
  const name = oneLine(question.name);
  const call = callTitle(name, input, mostTitleRows * (columns - 4) - end.length);
  const title: Line = [
    spanOf("? ", "yellow"),
    spanOf(name, "bold"),
    spanOf(call.slice(name.length)),
    spanOf(end, "dim"),
  ];
  return wrapLine(title, Math.max(8, columns - 1)).slice(0, mostTitleRows);
}

/** What the rules would say, before one counts. */
function alwaysRows({ offers, picked }: Extract<Answering, { readonly mode: "always" }>): readonly Line[] {
  const offer = offers[picked];
  const scopes = offer === undefined ? [] : scopesOf(offer);
  const hint = scopes.map(({ key, says }) => `${key} ${says}`).join(" · ");
  return [
    lineOf("  always allow, without asking:", "yellow"),
    ...offers.map(
      ({ says }, at): Line => [
        spanOf(at === picked ? "› " : "  ", "cyan"),
        spanOf(`${at + 1} `, "bold"),
        spanOf(oneLine(says)),
      ],
    ),
    ...(offer?.note === undefined ? [] : [lineOf(`  ${oneLine(offer.note)}`, "yellow")]),
    ...(offer?.mayLast === false
      ? [lineOf("  Commands are not sandboxed here, so it holds for this session only.", "dim")]
      : []),
    lineOf(`  ${hint} · esc back`),
  ];
}
