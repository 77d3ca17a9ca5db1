/**
 * Notifications on the desktop, which terminals show for an escape sequence. Which sequence a terminal understands is known from its
 * environment; the others would print it.
 */
import { toOneLine, truncate } from "./text.js";

export type NotificationProtocol = "osc 9" | "osc 777" | "osc 99";

type Environment = { readonly [name: string]: string | undefined };

/** Null if the terminal is not known to show notifications. A multiplexer does not pass them on. */
export function chooseNotificationProtocol({
  TERM = "",
  TERM_PROGRAM,
  TMUX,
  STY,
}: Environment): NotificationProtocol | null {
  if (TMUX !== undefined || STY !== undefined || /^(?:screen|tmux)/.test(TERM)) return null;
  if (TERM === "xterm-kitty") return "osc 99";
  if (TERM_PROGRAM === "iTerm.app") return "osc 9";
  if (TERM_PROGRAM === "WezTerm" || TERM_PROGRAM === "ghostty") return "osc 777";
  return /^(?:foot|rxvt-unicode|xterm-ghostty)/.test(TERM) ? "osc 777" : null;
}

const maxCharacters = 100;
/** Ends the sequence. */
const end = "\x1b\\";

/** @param text its control characters are removed */
export function formatDesktopNotification(protocol: NotificationProtocol, text: string): string {
  const clean = truncate(toOneLine(text), maxCharacters);
  switch (protocol) {
    case "osc 9":
      return `\x1b]9;Pawl ${clean}${end}`;
    case "osc 777":
      return `\x1b]777;notify;Pawl;Pawl ${clean.replaceAll(";", ",")}${end}`;
    case "osc 99":
      return `\x1b]99;;Pawl ${clean}${end}`;
  }
}
