/**
 * Tells a person whose window has no focus that a call waits for them, or that long work has ended.
 */
import type { Tty } from "../../screen/tty.js";
import { chooseNotificationProtocol, formatDesktopNotification } from "../../terminal/desktop-notification.js";

export type DesktopNotifications = {
  /** Turns the notifications on or off. */
  readonly use: (isOn: boolean) => void;
  /** Called when a question about a call is new. */
  readonly ask: (callName: string) => void;
  /** Called after each change, with the time in milliseconds. */
  readonly setAtWork: (isAtWork: boolean, now: number) => void;
};

/** How long a run must have taken for its end to be announced; milliseconds. */
export const longWorkMs = 10_000;

export function createDesktopNotifications(
  tty: Pick<Tty, "write" | "watchFocus">,
  environment: { readonly [name: string]: string | undefined },
): DesktopNotifications {
  const protocol = chooseNotificationProtocol(environment);
  let hasFocus: (() => boolean) | null = null;
  let isOn = false;
  let workSince: number | null = null;

  function show(text: string): void {
    if (isOn && protocol !== null && hasFocus?.() === false) tty.write(formatDesktopNotification(protocol, text));
  }

  return {
    use(wanted) {
      isOn = wanted;
      workSince = null;
      // The terminal is asked for its focus only if a notification can follow.
      if (isOn && protocol !== null) hasFocus ??= tty.watchFocus();
    },
    ask: (callName) => show(`waits for your answer: ${callName}`),
    setAtWork(isAtWork, now) {
      if (!isAtWork && workSince !== null && now - workSince >= longWorkMs) show("has finished");
      workSince = isAtWork ? (workSince ?? now) : null;
    },
  };
}
