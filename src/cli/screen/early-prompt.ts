/**
 * The early prompt: the first frame of a conversation. It depends only on the screen and the draft, so a person sees it while the
 * rest of the program loads.
 *
 * Input that is typed meanwhile is kept: the draft, and the messages that were sent.
 */
import { createStyleText, type Theme } from "../terminal/text-style.js";
import { clear, type Draft, emptyDraft, isEmpty, submit } from "./draft.js";
import { applyKey, continueLine, formatKey } from "./draft-keys.js";
import { renderDraft } from "./draft-rows.js";
import type { Key } from "./keys.js";
import { type Line, lineOf, spanOf } from "./line.js";
import { createScreen, type Screen } from "./screen.js";
import { openTty, type Tty, type TtyStreams } from "./tty.js";

/** The input typed at the prompt. */
export type EarlyInput = { readonly draft: Draft; readonly messages: readonly string[] };

export type Prompt = {
  readonly tty: Tty;
  readonly screen: Screen;
  /** Passes all further keys to `onKey`. @returns the input so far */
  readonly handOver: (onKey: (key: Key) => void) => EarlyInput;
  /** Removes the prompt, and restores the terminal. */
  readonly close: () => void;
};

const maxDraftRows = 4;
const maxMessages = 3;
/** The exit code after Ctrl-C. */
const interruptedExitCode = 130;

/** Shows the prompt at once. Until the keys are handed over, Ctrl-C and Ctrl-D end the process. */
export function openPrompt(
  streams: TtyStreams,
  environment: { readonly [name: string]: string | undefined },
  theme: Theme,
): Prompt {
  let draft = emptyDraft;
  const messages: string[] = [];
  let onKey = pressEarly;
  const tty = openTty(
    streams,
    (key) => onKey(key),
    () => screen.resize(),
  );
  const screen = createScreen(tty, createStyleText(streams.output, environment, theme));

  function pressEarly(key: Key): void {
    const name = key.type === "key" ? formatKey(key) : "";
    if (name === "ctrl-c" && isEmpty(draft)) leave(interruptedExitCode);
    else if (name === "ctrl-d" && isEmpty(draft)) leave(0);
    else if (name === "ctrl-c") draft = clear(draft);
    else if (name === "enter") send();
    else draft = applyKey(draft, key, { prompt: "> ", columns: tty.columns }) ?? draft;
    show();
    screen.answerKey();
  }

  function send(): void {
    const continuedDraft = continueLine(draft);
    if (continuedDraft !== null) {
      draft = continuedDraft;
      return;
    }
    const submitted = submit(draft);
    draft = submitted.draft;
    if (submitted.text.trim() !== "") messages.push(submitted.text);
  }

  function leave(exitCode: number): void {
    close();
    process.exit(exitCode);
  }

  function close(): void {
    screen.close();
    tty.close();
  }

  function show(): void {
    const sent = messages
      .slice(-maxMessages)
      .map((text): Line => [spanOf("next: ", "dim"), spanOf(text.replace(/\s+/g, " "))]);
    const input = renderDraft(draft, "> ", tty.columns, maxDraftRows);
    screen.show({
      rows: [...sent, ...input.rows, lineOf("starting…", "dim")],
      cursor: { row: sent.length + input.cursor.row, before: input.cursor.before },
    });
  }

  tty.enter();
  show();
  screen.drawNow();
  return {
    tty,
    screen,
    handOver(next) {
      onKey = next;
      return { draft, messages };
    },
    close,
  };
}
