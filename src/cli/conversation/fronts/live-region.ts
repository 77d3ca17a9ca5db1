/**
 * The live region of a conversation: open calls and text, the question or a list, the draft, and the status.
 */

import type { Mode } from "../../permissions/mode.js";
import { formatCallTitle } from "../../render/format-call.js";
import type { Draft } from "../../screen/draft.js";
import { renderDraft } from "../../screen/draft-rows.js";
import { type Line, lineOf, spanOf, wrapLine } from "../../screen/line.js";
import { type Picker, renderPicker } from "../../screen/picker.js";
import type { Region } from "../../screen/screen.js";
import { firstLine, toOneLine, truncate } from "../../terminal/text.js";
import type { OpenQuestion } from "../view/questions.js";
import type { View } from "../view/view.js";
import { type AnswerKey, type AnswerState, formatAnswerPrompt, listAnswerKeys, listScopes } from "./answering.js";
import { renderStatusLine } from "./status-line.js";

/** The maximum number of rows. The region also never takes more than half of the screen. */
const maxRows = 14;
const maxDraftRows = 8;
/** The rows that are always shown: a row of the draft, and the status. */
const fixedRows = 2;
/** With fewer columns, hints show only keys. */
const narrowColumns = 60;

export type RegionContent = {
  readonly view: View | null;
  readonly draft: Draft;
  /** Possible completions of the draft. */
  readonly hints: readonly Line[];
  readonly answering: AnswerState;
  /** Whether keys go to the question even though the draft is not empty. */
  readonly isOnQuestion: boolean;
  readonly picker: Picker | null;
  /** Whether the person is asked how to leave. */
  readonly isLeaving: boolean;
  readonly waitText: string | undefined;
  readonly mode?: Mode;
  /** Commands of the session that run in the background. */
  readonly processes?: number;
};

export function renderRegion(content: RegionContent, columns: number, rows: number, now: number): Region {
  const maxRegionRows = Math.max(3, Math.min(maxRows, Math.floor(rows / 2)));
  const { view, draft, answering, picker } = content;
  const questions = view?.questions.all() ?? [];
  const [question] = questions;
  const status =
    view === null
      ? lineOf(content.waitText ?? "", "dim")
      : renderStatusLine(view.state(), {
          columns,
          now,
          questions: questions.length,
          ...(content.mode === undefined ? {} : { mode: content.mode }),
          ...(content.processes === undefined ? {} : { processes: content.processes }),
          ...(content.waitText === undefined ? {} : { waitText: content.waitText }),
        });
  if (picker !== null) {
    const list = renderPicker(picker, columns, maxRegionRows - 1);
    return { rows: [...list.rows, status], cursor: list.cursor };
  }
  const promptRows = content.isLeaving
    ? renderLeaving(columns)
    : question === undefined
      ? content.hints
      : renderQuestion(question, content, columns, maxRegionRows - fixedRows);
  const prompt = question === undefined ? "> " : formatAnswerPrompt(answering);
  const input = renderDraft(
    draft,
    prompt,
    columns,
    Math.max(1, Math.min(maxDraftRows, maxRegionRows - 1 - promptRows.length)),
  );
  const room = Math.max(0, maxRegionRows - 1 - promptRows.length - input.rows.length);
  const open = view?.open(columns, room, now) ?? [];
  const above = [...open, ...promptRows];
  return {
    rows: [...above, ...input.rows, status],
    cursor: { row: above.length + input.cursor.row, before: input.cursor.before },
  };
}

function renderLeaving(columns: number): readonly Line[] {
  const isNarrow = columns < narrowColumns + 10;
  return [
    lineOf(
      isNarrow ? "? A run is in progress. Leave how?" : "? A run is in progress. How do you want to leave?",
      "yellow",
    ),
    lineOf(
      isNarrow
        ? "  s stop it   l leave it   esc stay"
        : "  s stop it   l leave it: pawl --continue resumes it   esc stay",
    ),
  ];
}

function renderQuestion(
  question: OpenQuestion,
  { answering, isOnQuestion, draft }: RegionContent,
  columns: number,
  maxQuestionRows: number,
): readonly Line[] {
  if (answering.mode === "always") return renderRuleOffers(answering);
  const title = renderQuestionTitle(question, answering, columns);
  if (answering.mode !== "choose")
    return [...title, lineOf(`  ${formatTextHint(answering, columns < narrowColumns)}`, "dim")];
  const [choiceKeys, keys] = splitKeys(question, answering);
  const isNarrow = columns < narrowColumns;
  const hint = keys.map(({ key, label }) => (isNarrow ? key : `${key} ${label}`)).join(isNarrow ? " " : "   ");
  const isReady = isOnQuestion || draft.text === "";
  return [
    ...title,
    ...renderChoices(choiceKeys, { columns, isReady, room: maxQuestionRows - title.length - 1 }),
    isReady ? lineOf(`  ${hint}`) : lineOf(isNarrow ? "  tab goes to the question" : `  tab, then ${hint}`, "dim"),
  ];
}

function formatTextHint(answering: AnswerState, isNarrow: boolean): string {
  if (answering.mode !== "edit") return "enter continues · esc back";
  const field = `field ${answering.at + 1} of ${Object.keys(answering.input).length}`;
  return isNarrow ? `${field} · esc drops the edit` : `${field} · enter continues · esc drops the edit`;
}

/** The keys of the answers that the question lists, and the other keys. */
function splitKeys(
  question: OpenQuestion,
  answering: AnswerState,
): readonly [readonly AnswerKey[], readonly AnswerKey[]] {
  const keys = listAnswerKeys(question, answering);
  const isChoice = ({ key }: AnswerKey) => /^\d$/.test(key);
  return [keys.filter(isChoice), keys.filter((key) => !isChoice(key))];
}

/**
 * The answers that the question lists, one for each row. A small screen shows only their numbers, because the history has all of
 * them in full.
 */
function renderChoices(
  choices: readonly AnswerKey[],
  { columns, isReady, room }: { readonly columns: number; readonly isReady: boolean; readonly room: number },
): readonly Line[] {
  const style = isReady ? undefined : "dim";
  if (choices.length > Math.max(0, room)) return [lineOf(`  1–${choices.length} for the answers above`, style)];
  return choices.map(({ key, label }) => lineOf(`  ${key} ${truncate(label, Math.max(8, columns - 5))}`, style));
}

const maxTitleRows = 2;

/** Names the call that the keys answer, because output of other calls may come between the call and the keys. */
function renderQuestionTitle(question: OpenQuestion, answering: AnswerState, columns: number): readonly Line[] {
  const input = answering.mode === "choose" ? (answering.edited ?? question.input) : question.input;
  const asked = question.why === "tool" ? question.question : undefined;
  const titleEnd = asked === undefined ? ", shown above" : " (shown above)";
  const name = toOneLine(question.name);
  const titleColumns = maxTitleRows * (columns - 4) - titleEnd.length;
  const call =
    asked !== undefined
      ? `${name} ${truncate(toOneLine(firstLine(asked.trim())), Math.max(8, titleColumns - name.length - 1))}`
      : formatCallTitle(name, input, titleColumns);
  const title: Line = [
    spanOf("? ", "yellow"),
    spanOf(name, "bold"),
    spanOf(call.slice(name.length)),
    spanOf(titleEnd, "dim"),
  ];
  return wrapLine(title, Math.max(8, columns - 1)).slice(0, maxTitleRows);
}

/** Renders the rules that the person can choose. */
function renderRuleOffers({ offers, picked }: Extract<AnswerState, { readonly mode: "always" }>): readonly Line[] {
  const offer = offers[picked];
  const scopes = offer === undefined ? [] : listScopes(offer);
  const hint = scopes.map(({ key, label }) => `${key} ${label}`).join(" · ");
  return [
    lineOf("  always allow, without asking:", "yellow"),
    ...offers.map(
      ({ label }, at): Line => [
        spanOf(at === picked ? "› " : "  ", "cyan"),
        spanOf(`${at + 1} `, "bold"),
        spanOf(toOneLine(label)),
      ],
    ),
    ...(offer?.note === undefined ? [] : [lineOf(`  ${toOneLine(offer.note)}`, "yellow")]),
    ...(offer?.canPersist === false
      ? [lineOf("  Commands are not sandboxed here, so the rule is for this session only.", "dim")]
      : []),
    lineOf(`  ${hint} · esc back`),
  ];
}
