/**
 * The prompt before anything else is there: the first frame of a conversation. It needs the screen and the draft only,
 * so a person sees it while the rest of the program is loaded.
 *
 * What is typed meanwhile is kept: the draft, and the messages that were sent.
 */
import { createStyleText, type Theme } from "../text-style.js";
import { clear, type Draft, emptyDraft, isEmpty, take } from "./draft.js";
import { continued, nameOfKey, pressed } from "./draft-keys.js";
import { draftRows } from "./draft-rows.js";
import type { Key } from "./keys.js";
import { type Line, lineOf, spanOf } from "./line.js";
import { createScreen, type Screen } from "./screen.js";
import { openTty, type Tty, type TtyStreams } from "./tty.js";

/** What was typed at the prompt. */
export type Typed = { readonly draft: Draft; readonly messages: readonly string[] };

export type Prompt = {
  readonly tty: Tty;
  readonly screen: Screen;
  /** Passes all further keys on. @returns what was typed until now */
  readonly handOver: (onKey: (key: Key) => void) => Typed;
  /** Removes the prompt, and gives the terminal back. */
  readonly close: () => void;
};

const mostDraftRows = 4;
const mostMessages = 3;
/** The exit code of a process that Ctrl-C has ended. */
const interrupted = 130;

/** Shows the prompt at once. Ctrl-C and Ctrl-D end the process as long as nobody else takes the keys. */
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
    const name = key.type === "key" ? nameOfKey(key) : "";
    if (name === "ctrl-c" && isEmpty(draft)) leave(interrupted);
    else if (name === "ctrl-d" && isEmpty(draft)) leave(0);
    else if (name === "ctrl-c") draft = clear(draft);
    else if (name === "enter") send();
    else draft = pressed(draft, key, { prompt: "> ", columns: tty.columns }) ?? draft;
    show();
    screen.answerKey();
  }

  function send(): void {
    const longer = continued(draft);
    if (longer !== null) {
      draft = longer;
      return;
    }
    const taken = take(draft);
    draft = taken.draft;
    if (taken.text.trim() !== "") messages.push(taken.text);
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
      .slice(-mostMessages)
      .map((text): Line => [spanOf("next: ", "dim"), spanOf(text.replace(/\s+/g, " "))]);
    const input = draftRows(draft, "> ", tty.columns, mostDraftRows);
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
